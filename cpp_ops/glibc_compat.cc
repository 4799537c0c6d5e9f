// Two symbols that today's libstdc++ headers refer to and that old systems lack, so that a wheel runs there too.
// SPDX-License-Identifier: MIT

#include <new>

#if defined(__linux__) && defined(__GLIBCXX__)

// glibc 2.32. Zero means "there may be other threads", which is always safe.
extern "C" {
extern __attribute__((visibility("hidden"))) char __libc_single_threaded;
char __libc_single_threaded = 0;
}

// GLIBCXX 3.4.29.
namespace std {
__attribute__((visibility("hidden"))) void __throw_bad_array_new_length() { throw bad_array_new_length(); }
}  // namespace std
#endif
