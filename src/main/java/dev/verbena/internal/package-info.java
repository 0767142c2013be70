/** Linking of C functions, errno, and the dispatch of the inline verbs. Not exported. */
package dev.verbena.internal;
