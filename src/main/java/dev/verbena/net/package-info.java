/**
 * Memory that is registered once and used many times.
 *
 * <p>A registration takes microseconds to milliseconds, because the kernel pins each page. No hot path should register.
 * {@link dev.verbena.net.BufferPool} lends pieces of one registration. {@link dev.verbena.net.RegistrationCache} keeps the
 * registrations of memory that belongs to others.
 */
package dev.verbena.net;
