/** Tools that copy files between two machines. */
@org.jspecify.annotations.NullMarked
package dev.verbena.tools.copy;
