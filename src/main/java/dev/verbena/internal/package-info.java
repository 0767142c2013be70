/**
 * The way to C: linking, {@code errno}, and waiting for descriptors. Not exported.
 *
 * <p>Which call is for what:
 *
 * <table class="plain">
 * <caption>The ways to call C</caption>
 * <tr><th>for</th><th>class</th><th>how</th></tr>
 * <tr><td>everything that is not hot: control path, connection manager, sockets, system calls</td>
 *     <td>{@link dev.verbena.internal.CFunction}</td>
 *     <td>One linked handle for all functions: six {@code long}s, {@code errno} is kept for the thread. The functions by
 *     name are in {@link dev.verbena.internal.Ibv}, {@code cm.RdmaCm}, {@code sockets.Rsocket} and
 *     {@link dev.verbena.internal.SystemCall}; those that a pointer of a context leads to are in
 *     {@link dev.verbena.internal.ContextVerb}.</td></tr>
 * <tr><td>the same with an exception on failure</td>
 *     <td>{@code failures.Calls}</td>
 *     <td>{@code Calls.run(Ibv.DESTROY_AH, this, address)} for 0 or an error number, {@code Calls.pointer} for NULL on
 *     failure, {@code Calls.number} for a negative number on failure. A maker fills a struct of the scratch arena that
 *     {@code ObjectLifetime.create} hands it, and calls C last.</td></tr>
 * <tr><td>posts, polls and requests for events</td>
 *     <td>{@link dev.verbena.internal.Driver}</td>
 *     <td>A hidden class for each table of a driver's functions, without {@code errno}; critical calls where the functions
 *     are short.</td></tr>
 * <tr><td>the functions of extended queues</td>
 *     <td>{@link dev.verbena.internal.ExtendedCalls}</td>
 *     <td>Handles with the address of the function, critical or plain.</td></tr>
 * <tr><td>memory of a user that C reads or writes during the call</td>
 *     <td>{@code sockets.Rsocket}</td>
 *     <td>A handle with a {@code MemorySegment} among its arguments, which keeps the memory alive until C returns.</td></tr>
 * <tr><td>what must be done although memory may be missing: a wake-up, an acknowledgement, a sleep in C</td>
 *     <td>{@code CFunction.callQuietly}</td>
 *     <td>The handles of {@code ExtendedCalls}: no garbage, and no {@code errno}.</td></tr>
 * </table>
 *
 * <p>Enums of C's numbers are converted by {@link dev.verbena.internal.EnumCodec}, structs are read by the generated
 * bindings or by address with {@link dev.verbena.internal.Memory}.
 */
package dev.verbena.internal;
