/** Command-line tools over the public API, which are also examples of how to use it. */
@org.jspecify.annotations.NullMarked
package dev.verbena.tools;
