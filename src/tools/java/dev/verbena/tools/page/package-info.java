/** Pages with charts, and JSON, of the tools that measure. */
@org.jspecify.annotations.NullMarked
package dev.verbena.tools.page;
