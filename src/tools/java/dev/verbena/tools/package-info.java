/** Command-line tools over the public API. They are also the best examples of it. */
@org.jspecify.annotations.NullMarked
package dev.verbena.tools;
