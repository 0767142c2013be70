/**
 * Nodes that exchange messages, and pools and caches of registered memory, on top of verbs and the connection manager.
 *
 * <p>{@link dev.verbena.net.Node} and {@link dev.verbena.net.Channel} are what most programs need: connections, messages with
 * flow control, calls, and an end that each side learns. Registering takes microseconds to milliseconds, because the kernel pins
 * each page: do not register on a hot path. {@link dev.verbena.net.BufferPool} lends pieces of one registration.
 * {@link dev.verbena.net.RegistrationCache} keeps the registrations of memory that comes from elsewhere.
 *
 * <h2>Three programs</h2>
 *
 * <p>A key-value store. Clients read entries from the server's memory, and the server's program has no part in that:
 *
 * {@snippet file="KeyValueStore.java" region="program"}
 *
 * <p>A file of any size, with its SHA-256:
 *
 * {@snippet file="FileTransfer.java" region="program"}
 *
 * <p>A server of requests, in three styles:
 *
 * {@snippet file="SquareRootServer.java" region="program"}
 *
 * <h2>The protocol of channels, version 1</h2>
 *
 * <p>A channel is a reliable connection of the connection manager ({@code RDMA_PS_TCP}), without private data in the request.
 * Each message is one send with immediate data. The bytes of the send are the bytes of the message. The immediate data is
 *
 * <table>
 *   <caption>The immediate data of a message</caption>
 *   <tr><th>bits</th><th>meaning</th></tr>
 *   <tr><td>31 to 28</td><td>kind: 1 greeting, 2 message of the program, 3 grant, 4 goodbye, 5 request, 6 reply, 7 fault, 8 lookup, 9 offer</td></tr>
 *   <tr><td>27 to 16</td><td>number of credits that the sender grants</td></tr>
 *   <tr><td>15 to 0</td><td>of a goodbye: the reason, see {@link dev.verbena.net.EndReason}; of request, lookup, offer, reply and fault: the number of
 *   the call; else 0</td></tr>
 * </table>
 *
 * <p><b>Greeting.</b> The side that connects greets first, as iWARP demands; the other side answers. A greeting has 64 bytes,
 * with numbers in network order. Bytes 0 to 3 are {@code VBNA}. Byte 4 is the version. Bytes 8 to 11 are the window: the number
 * of messages that the sender has receives for, 1 to 4095. Bytes 12 to 15 are the largest number of bytes of a message to the
 * sender, at least 64. Bytes 16 to 19 are the number of calls that the sender answers at once, 0 to 4095. Bytes 20 to 23 are the number of
 * bytes of the token, 0 to 40. The token begins at byte 24. The other bytes are 0. A side that does not know the version says goodbye with reason 1.
 *
 * <p><b>Credits.</b> A side starts with as many credits as the peer's window has receives. Each message of the program takes
 * one. The receiver posts the receive again when the program closes the message, and then owes a credit. It grants all credits
 * that it owes with its next message, or with a bare grant once it owes half of its window. Greeting, goodbye and bare grants
 * take no credit. For them a side keeps four more receives: one for the greeting, one for the goodbye, and two for bare grants.
 * A receive that a bare grant has used is posted again before its credits are used.
 *
 * <p><b>Two receives are enough for bare grants.</b> A side that owes {@code o} credits has received at least {@code o}
 * messages more than it has granted. The peer can send no more than its window and the grants it has seen. So the grants that
 * the peer has not seen are at most {@code window - o}, and at most {@code window} after this grant. A bare grant is at least
 * half of the window. So the peer has at most two not seen. A side therefore never sends where no receive is posted, and
 * connections are made with no retries for that case (RNR).
 *
 * <p><b>Calls.</b> A request is a message that takes a credit. Its number is less than the smaller number of calls in both
 * greetings, and is of no other open call. Each request gets one reply or fault with its number. A fault has a text in UTF-8.
 * Reply and fault take no credit: the caller keeps one more receive for each call that can be open. A number is free again
 * when the caller has posted that receive again. So the number of a call that was given up is used again only after its
 * reply, and no reply is taken for another. A side that answers twice, or a number that is not open, breaks the rules.
 *
 * <p><b>Exports.</b> A lookup is a request whose bytes are the name of an export. The node itself answers it. The reply has 20
 * bytes, the {@linkplain dev.verbena.verbs.RemoteMemory#writeWideTo wide form} of the memory. With memory windows of type 2, the
 * node binds a window to the queue pair of the channel right before the reply, and frees it when the export or the channel
 * ends. Otherwise the key is that of the memory region.
 *
 * <p><b>Offers.</b> An offer is a request whose last 20 bytes are the wide form of the memory with the data. The peer reads the
 * memory, and replies without bytes when it has all. The memory can be read until the reply has come.
 *
 * <p><b>Goodbye.</b> The last message of a side. The peer answers with a goodbye after its own last message. A side
 * disconnects when it has both sent and received a goodbye, and all its sends are acknowledged. So all messages that were
 * accepted for sending have arrived by then. With a reason other than 0, the sender disconnects at once.
 *
 * <p><b>Life.</b> A channel that was idle for {@link dev.verbena.net.NodeOptions#alive} posts a write of no bytes, which only
 * the peer's adapter answers. The channel ends when a send fails, when nothing is acknowledged for twice that time, or when
 * the connection manager reports the end.
 *
 * <p><b>Bad peers.</b> A message that breaks these rules ends its channel with
 * {@link dev.verbena.net.EndReason#PROTOCOL_ERROR} and no other. Messages are addressed to a channel by its number and a
 * generation in the work request's id, never by the number of a queue pair, which devices use again. A peer beyond the limits
 * of {@link dev.verbena.net.NodeOptions} is rejected by the connection manager, with the six bytes {@code VBNA}, version and
 * reason.
 *
 * <p>RDMA does not encrypt. Who can reach the device's network can read what is sent, keys of exports and tokens included, and
 * can connect to a node.
 */
package dev.verbena.net;
