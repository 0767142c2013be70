/**
 * Nodes that exchange messages, and pools and caches of registered memory, on top of verbs and the connection manager.
 *
 * <p>{@link dev.verbena.net.Node} and {@link dev.verbena.net.Channel} are what most programs need: connections, messages
 * with flow control, calls, and an end that each side learns. Registering takes microseconds to milliseconds, because the
 * kernel pins each page: do not register on a hot path. {@link dev.verbena.net.BufferPool} lends pieces of one
 * registration. {@link dev.verbena.net.RegistrationCache} keeps the registrations of memory that comes from elsewhere.
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
 * <p>A channel is a reliable connection of the connection manager ({@code RDMA_PS_TCP}), without private data in the
 * request. Each message is one send with immediate data. The bytes of the send are the bytes of the message. The immediate
 * data is
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
 * <p>iWARP has no immediate data. There the same 4 bytes, in network order, follow the bytes of the message in the send.
 *
 * <p><b>Greeting.</b> The side that connects greets first, as iWARP demands; the other side answers. A greeting has 64
 * bytes, with numbers in network order. Bytes 0 to 3 are {@code VBNA}. Byte 4 is the version. Bytes 8 to 11 are the window:
 * the number of messages that the sender has receives for, 1 to 4095. Bytes 12 to 15 are the largest number of bytes of a
 * message to the sender, at least 64. Bytes 16 to 19 are the number of calls that the sender answers at once, 0 to 4095.
 * Bytes 20 to 23 are the number of bytes of the token, 0 to 40. The token begins at byte 24. The other bytes are 0. A side
 * that does not know the version says goodbye with reason 1.
 *
 * <p><b>Credits.</b> A side starts with as many credits as the peer's window has receives. Each message of the program
 * takes one. The receiver posts the receive again when the program closes the message, and then owes a credit. It grants
 * all credits that it owes with its next message, or with a bare grant once it owes half of its window. Greeting, goodbye
 * and bare grants take no credit. For them a side keeps four more receives: one for the greeting, one for the goodbye, and
 * two for bare grants. A receive that a bare grant has used is posted again before its credits are used.
 *
 * <p><b>Admission.</b> The side that is connected to has one receive, of 256 bytes, until it has read the greeting and admits
 * the peer. Then it posts its other receives, and answers. So a peer that does not greet, or is refused, costs no memory for
 * messages. The side that connects posts all receives first.
 *
 * <p><b>Two receives are enough for bare grants.</b> A side that owes {@code o} credits has received at least {@code o}
 * messages more than it has granted. The peer can send no more than its window and the grants it has seen. So the grants
 * that the peer has not seen are at most {@code window - o}, and at most {@code window} after this grant. A bare grant is
 * at least half of the window. So the peer has at most two not seen. A side therefore never sends where no receive is
 * posted, and connections are made with no retries for that case (RNR).
 *
 * <p><b>Calls.</b> A request is a message that takes a credit. Its number is less than the smaller number of calls in both
 * greetings, and is of no other open call. Each request gets one reply or fault with its number. A fault has a text in
 * UTF-8. Reply and fault take no credit: the caller keeps one more receive for each call that can be open. A number is free
 * again when the caller has posted that receive again. So the number of a call that was given up is used again only after
 * its reply, and no reply is taken for another. A side that answers twice, or a number that is not open, breaks the rules.
 *
 * <p><b>Exports.</b> A lookup is a request whose bytes are the name of an export. The node itself answers it. The reply has
 * 20 bytes, the {@linkplain dev.verbena.verbs.RemoteMemory#writeWideTo wide form} of the memory. With memory windows of
 * type 2, the node binds a window to the queue pair of the channel right before the reply, and frees it when the export or
 * the channel ends. Otherwise the key is that of the memory region.
 *
 * <p><b>Offers.</b> An offer is a request whose last 20 bytes are the wide form of the memory with the data. The peer reads
 * the memory, and replies without bytes when it has all. The memory can be read until the reply has come.
 *
 * <p><b>Goodbye.</b> The last message of a side. The peer answers with a goodbye after its own last message. A side
 * disconnects when it has both sent and received a goodbye, and all its sends are acknowledged. So all messages that were
 * accepted for sending have arrived by then. With a reason other than 0, the sender disconnects at once.
 *
 * <p><b>Life.</b> A channel that was idle for {@link dev.verbena.net.NodeOptions#alive} posts a write of no bytes, which
 * only the peer's adapter answers, or on iWARP a read of no bytes. The channel ends when a send fails, when nothing is
 * acknowledged for twice that time, or when the connection manager reports the end. Reads and writes that are under way add
 * a second for each 4 MiB to that time.
 *
 * <p><b>Bad peers.</b> A message that breaks these rules ends its channel with
 * {@link dev.verbena.net.EndReason#PROTOCOL_ERROR} and no other. Messages are addressed to a channel by its number and a
 * generation in the work request's id, never by the number of a queue pair, which devices use again. A peer beyond the
 * limits of {@link dev.verbena.net.NodeOptions} is rejected by the connection manager, with the six bytes {@code VBNA},
 * version and reason.
 *
 * <h2>The protocol over TCP, version 1</h2>
 *
 * <p>With {@link dev.verbena.net.Transport#TCP}, a channel is a TCP connection. It carries the same messages, and a thread
 * of each node takes the part of the adapter. All numbers are in network order.
 *
 * <p><b>Hello.</b> The side that connects begins with 16 bytes, and the other side answers with 16 bytes. Bytes 0 to 3 are
 * {@code VBNT}. Byte 4 is the version, 1. Bit 0 of byte 5 is set by a side that wants RDMA: see below. Byte 6 is 0, or the
 * reason of a refusal, as in a goodbye. The other bytes are 0. A peer that says something else is refused. The first frame of
 * the side that connects is its greeting: until this has come, it costs the other side a socket and some 100 bytes. A peer
 * whose greeting is late by {@link dev.verbena.net.NodeOptions#handshakeTimeout} gets a goodbye.
 *
 * <p><b>RDMA or TCP.</b> With {@link dev.verbena.net.Transport#AUTO}, a node with a device listens by the connection
 * manager and by TCP, with the same port number. It connects by TCP and sets the bit. If the answer has the bit too, the
 * TCP connection is no channel: both sides close it, and the side that connects connects by RDMA. If the answer does not
 * have the bit, the TCP connection becomes the channel. If nobody answers by TCP, or not in 3 seconds, the side connects by
 * RDMA. If both sides have the bit and no device leads to the peer, or nobody listens there by RDMA, the side connects by
 * TCP again, without the bit. All other failures by RDMA are final. An iWARP device needs the TCP port for itself. So a
 * node on iWARP listens by RDMA only, connects by RDMA first, and by TCP if the peer's answer is not one of iWARP.
 *
 * <p><b>Frames.</b> After that, each side sends frames. A frame is a header of 40 bytes, and data.
 *
 * <table>
 *   <caption>The header of a frame</caption>
 *   <tr><th>bytes</th><th>meaning</th></tr>
 *   <tr><td>0</td><td>type: requests are 1 message, 2 write, 3 read, 4 fetch and add, 5 compare and swap; answers are 6
 *   acknowledgement, 7 data, 8 value, 9 denial</td></tr>
 *   <tr><td>1 to 3</td><td>0</td></tr>
 *   <tr><td>4 to 7</td><td>of message, write and data: the number of bytes that follow; of a read: the number of bytes to read; else
 *   0. At most 2^31 - 1</td></tr>
 *   <tr><td>8 to 15</td><td>of write, read and atomics: the address in the memory of the side that gets the frame; else 0</td></tr>
 *   <tr><td>16 to 19</td><td>of write, read and atomics: the key of that memory; else 0</td></tr>
 *   <tr><td>20 to 23</td><td>of a message: the immediate data; of an acknowledgement: a number of requests; else 0</td></tr>
 *   <tr><td>24 to 31</td><td>of fetch and add: the number to add; of compare and swap: the expected number; of a value: the number
 *   before; else 0</td></tr>
 *   <tr><td>32 to 39</td><td>of compare and swap: the new number; else 0</td></tr>
 * </table>
 *
 * <p>Requests are carried out and answered in order. An acknowledgement answers that many messages and writes, the oldest
 * first. Data answers a read of that length, and a value answers an atomic. A side has at most 16 reads and atomics that
 * are not answered. So the other side never stops to receive, and needs memory for 16 answers only. A write of no bytes
 * needs no key: it asks for a sign of life.
 *
 * <p><b>Denial.</b> A request with a key, a range or a right that is wrong is answered by a denial, and the connection
 * ends: as with an adapter, the asking side sees {@link dev.verbena.net.EndReason#ACCESS_DENIED} and the other side
 * {@link dev.verbena.net.EndReason#LOST}. Keys are random. A key of an export is valid on one channel only, and no byte is
 * read or written after the export is closed. A node with {@code AUTO} also takes the device's keys of memory that its
 * program has registered with remote rights, so that such keys can be sent to peers of both kinds. Devices do not choose
 * their keys at random.
 *
 * <p><b>Bad peers.</b> A header that breaks these rules, a message that is larger than the receives, a message without a
 * receive and an answer that no request stands for end the channel with {@link dev.verbena.net.EndReason#PROTOCOL_ERROR}.
 * All further bytes of that peer are dropped. A peer that does not take its answers ends as one that acknowledges nothing.
 *
 * <h2>The protocol of nodes with a secret, version 2</h2>
 *
 * <p>A node with a secret, see {@link dev.verbena.net.NodeOptions#secret}, speaks version 2 only. The rest of the protocol
 * is the same, over RDMA and over TCP.
 *
 * <p><b>Greetings.</b> The greetings carry the handshake {@code Noise_NNpsk0_25519_AESGCM_SHA256} of the Noise Protocol
 * Framework, revision 34. Its pre-shared key is the SHA-256 of the secret. The first greeting begins with 64 bytes as in
 * version 1, with these changes: byte 4 is 2. Byte 5 is the protection: 1 authenticated, 2 sealed. Byte 6 is the transport: 0
 * RDMA, 1 TCP. In place of the token is the name of the secret. These 64 bytes are the prologue. The first message of Noise
 * follows. Its payload has 41 bytes: the length of the token, the token, and zeros. The second greeting begins with the first 8
 * bytes of such a greeting, and the second message of Noise follows. Its payload has the first 24 bytes of such a greeting.
 *
 * <p><b>Refusals.</b> A side whose protection is another, and one with a secret that gets version 1, says goodbye with
 * reason 9. A side that can't open a greeting says goodbye with reason 8. To find that out takes hashes and one decryption;
 * X25519 comes after it.
 *
 * <p><b>Proofs.</b> A recorded first greeting can be said again by somebody who does not know the secret. So the side that
 * connects then sends a greeting without bytes, sealed, and only with this the other side admits it and allocates memory. The
 * other side answers with a greeting without bytes, sealed, once its receives are posted. On an authenticated channel, all
 * that follows is as in version 1.
 *
 * <p><b>Sealed messages.</b> On a sealed channel, each message after the second greeting is one AEAD of AES-256-GCM under the
 * keys of the handshake. Its nonce is the number of the message in its direction, which is not sent. Its associated data is the
 * immediate data. The tag of 16 bytes follows the message, also one without bytes. Each direction changes its key by
 * {@code REKEY} of Noise after 2<sup>24</sup> messages, or as soon as 64 GiB have gone. What can't be opened ends the channel
 * with reason 10. Credits are as in version 1: a tag is in the receive of its message.
 *
 * <p><b>Sealed transfers.</b> An offer ends with 52 bytes: the wide form of a ring of memory, but with the number of bytes of
 * the data as length, and a key of 32 random bytes. The receiver sends a pull (kind 10), and the other side seals the next 256
 * KiB into the ring, with the number of the piece as nonce, and sends a piece (kind 11). The receiver reads and opens it.
 * A piece begins at byte 0 of the ring, or 262,208 if its number is odd. Both kinds have the number of the offer's call and no
 * bytes, and take no credit. The pull comes in the receive for the reply to the offer. For pieces, a side has one more receive
 * for each call of the peer. Each receive is posted again before the next such message can come: an offer has at most one
 * pull that is not answered. A side that has given its offer up answers a pull with kind 12.
 *
 * <p><b>Exports.</b> A lookup on a sealed channel finds only exports {@linkplain dev.verbena.net.Export#inTheClear in the
 * clear}. With a secret, keys are those of windows of type 2, or over TCP of the channel, in offers too: on a device without
 * such windows nothing is found, and only sealed offers can be made.
 *
 * <h2>What is not protected</h2>
 *
 * <p>Without a secret, neither RDMA nor TCP encrypts here. Who can reach the device's network can read what is sent, keys of
 * exports and tokens included, and can connect to a node. On a sealed channel others see the lengths and times of messages,
 * the addresses, and all that moves by reads, writes and atomics. The chapter {@code src/docs/security.md} tells what each
 * kind of attacker can do.
 */
package dev.verbena.net;
