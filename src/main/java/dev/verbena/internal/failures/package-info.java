@org.jspecify.annotations.NullMarked
package dev.verbena.internal.failures;
