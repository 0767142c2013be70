/** Tools that show and check the devices of this machine. */
@org.jspecify.annotations.NullMarked
package dev.verbena.tools.device;
