/**
 * Nodes that exchange messages, on top of verbs and the connection manager.
 *
 * <p>{@link Node} and {@link Channel} are what most programs need: connections, messages with flow control, calls, and an
 * end that each side learns. The chapter <a href="{@docRoot}/net.html">Nodes, channels and calls</a> explains them, has
 * three whole programs, and describes the bytes on the wire. <a href="{@docRoot}/security.html">Security</a> says what the
 * network sees.
 *
 * <table class="plain">
 *   <caption>Types to start with</caption>
 *   <tr><th>type</th><th>use</th></tr>
 *   <tr><td>{@link Node}</td><td>this process on one device: listens, connects, and owns memory for messages</td></tr>
 *   <tr><td>{@link Channel}</td><td>a connection to another node: messages, calls, and the peer's memory</td></tr>
 *   <tr><td>{@link Message}</td><td>memory that is sent or was received</td></tr>
 *   <tr><td>{@link Handler}</td><td>the program's answer to messages and calls</td></tr>
 *   <tr><td>{@link NodeOptions}</td><td>the sizes and limits of a node, and its transport</td></tr>
 * </table>
 *
 * <ul>
 *   <li>Memory of a peer: {@link Export} (memory that peers find by name).
 *   <li>Data and files of any size: {@link Transfer}.
 *   <li>Ends: {@link ChannelException}, {@link EndReason}, {@link CallException}.
 *   <li>Without a device: {@link Transport}. Against strangers: {@link Protection}.
 * </ul>
 */
package dev.verbena.net;
