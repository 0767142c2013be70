/**
 * What stands on verbs and the connection manager and saves work: memory that is registered once and used many times.
 *
 * <p>Registering takes microseconds to milliseconds, as the kernel pins each page, so no hot path should register:
 * {@link dev.verbena.net.BufferPool} lends pieces of one registration, and {@link dev.verbena.net.RegistrationCache}
 * keeps the registrations of memory that is not one's own.
 */
package dev.verbena.net;
