/**
 * Pools and caches of registered memory, on top of verbs and the connection manager.
 *
 * <p>Registering takes microseconds to milliseconds, because the kernel pins each page: do not register on a hot path.
 * {@link dev.verbena.net.BufferPool} lends pieces of one registration. {@link dev.verbena.net.RegistrationCache} keeps
 * the registrations of memory that comes from elsewhere.
 */
package dev.verbena.net;
