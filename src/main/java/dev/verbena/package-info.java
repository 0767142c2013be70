/**
 * The {@linkplain dev.verbena.VerbsArena arena} that owns memory and verbs objects, and the exceptions of all packages.
 *
 * <table class="plain">
 *   <caption>Types to start with</caption>
 *   <tr><th>type</th><th>use</th></tr>
 *   <tr><td>{@link VerbsArena}</td><td>an arena: allocates memory, and closes verbs objects in the right order</td></tr>
 *   <tr><td>{@link VerbsObject}</td><td>an object that an arena closes, or the program before it</td></tr>
 *   <tr><td>{@link VerbsException}</td><td>a C function failed: which, with which arguments, and what to do</td></tr>
 *   <tr><td>{@link UnsupportedVerbException}</td><td>this device, kernel or rdma-core lacks a feature</td></tr>
 *   <tr><td>{@link RdmaUnavailableException}</td><td>this machine lacks rdma-core's libraries</td></tr>
 *   <tr><td>{@link ResourceBusyException}</td><td>others still use the object to be closed</td></tr>
 *   <tr><td>{@link VerbsTimeoutException}</td><td>a wait ended without a result</td></tr>
 * </table>
 *
 * <p>Rare: {@link Rdma} (the libraries that were loaded) and {@link CName} (marks methods with names of C functions).
 */
package dev.verbena;
