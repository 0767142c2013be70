// RDMA in Java, step by step. Lines with an arrow are JShell's answers.
// The first part uses the verbs alone: it connects two queue pairs of one device by hand. Every RDMA program has these
// steps, whether the peer is in the same process, as here, or on another machine.

// 1. The device list. (ibv_get_device_list)
var devices = Device.list()
var device = devices.getFirst()

// 2. Open it. One arena owns all that follows, and closes it in the right order. (ibv_open_device)
var arena = VerbsArena.ofShared()
var context = device.open(arena)
context.port(1)
// The addresses of the device. On RoCE, a peer's address is a GID, which contains an IP address.
context.gids()
context.bestGid(1)

// 3. A protection domain: only objects of the same domain can be used together. (ibv_alloc_pd)
var domain = context.allocateProtectionDomain()

// 4. Memory regions: memory that the adapter may access. A region has two keys. Work requests contain the local key;
//    a peer needs the remote key and the address. (ibv_reg_mr)
var here = domain.register(arena.allocate(64, 64), LOCAL_WRITE)
var there = domain.register(arena.allocateFrom("remote memory"), LOCAL_WRITE, REMOTE_READ)
here.localKey()
there.remoteKey()
// A description of the region for the peer: 16 bytes, which you can send over any channel.
var secret = there.remote()

// 5. A completion queue, in which the adapter reports completed requests. (ibv_create_cq)
var queue = context.createCompletionQueue(16)

// 6. Two queue pairs. Each has a send queue and a receive queue. (ibv_create_qp)
var left = domain.createQueuePair(QueuePair.rc(queue))
var right = domain.createQueuePair(QueuePair.rc(queue))
left.state()

// 7. Connect the queue pairs: each needs the other's number, first packet number and address, and goes through three
//    states. INIT: receives can be posted. RTR: ready to receive. RTS: ready to send. (ibv_modify_qp)
var peer = right.endpoint()
left.modify(QueuePairAttributes.to(QueuePairState.INIT).pkeyIndex(0).port(1).access(Set.of()))
left.state()
left.modify(QueuePairAttributes.to(QueuePairState.RTR).addressVector(left.pathTo(peer)).pathMtu(context.port(1).activeMtu()).destinationQueuePair(peer.queuePairNumber()).receivePsn(peer.packetSequenceNumber()).maxDestinationReadAtomic(1).minRnrTimer(Duration.ofNanos(640_000)))
left.state()
left.modify(QueuePairAttributes.to(QueuePairState.RTS).sendPsn(left.endpoint().packetSequenceNumber()).timeout(Duration.ofMillis(67)).retryCount(6).rnrRetryCount(7).maxReadAtomic(1))
left.state()
// One call does the same for the other queue pair.
right.connect(left.endpoint())
right.state()

// 8. Post a work request: read the peer's memory. The peer's CPU takes no part. (ibv_post_send)
left.postRead(7, here.slice(0, secret.length()), secret)

// 9. Poll until the request completes, or wait, as here. A completion has the request's id and status. (ibv_poll_cq)
queue.await(Duration.ofSeconds(5)).orThrow()
here.segment().getString(0)

// 10. A wrong key: the peer's adapter rejects the request, and its completion fails. Both queue pairs enter the error state.
left.postRead(8, here.slice(0, 8), new RemoteMemory(secret.address(), ~secret.key(), 8))
queue.await(Duration.ofSeconds(5))
left.state()

// 11. Clean up, in reverse order: queue pairs, completion queue, regions, domain, context. The arena does it on close.
left.close()
arena.close()

// The second part uses the connection manager, which resolves IP addresses and connects queue pairs. Most programs use
// it. The peer is a thread of this shell.
var session = VerbsArena.ofShared()
var address = new InetSocketAddress(open().bestGid(1).gid().toInetAddress(), 7999)

// 12. A server listens and accepts one client. (rdma_bind_addr, rdma_listen, rdma_accept)
var listener = Listener.open(address, session)
var served = CompletableFuture.supplyAsync(() -> { try { return listener.accept(Duration.ofSeconds(10)); } catch (InterruptedException e) { throw new RuntimeException(e); } })

// 13. A client connects, without numbers and states. (rdma_resolve_addr, rdma_resolve_route, rdma_connect)
var client = dev.verbena.cm.Connection.open(address, Duration.ofSeconds(10), session)
var server = served.get()
client.queuePair().state()

// 14. The server registers memory for the client to read, and the client registers memory to read into.
var source = server.register(session.allocateFrom("read through the connection manager"), REMOTE_READ)
var target = client.register(session.allocate(64, 64), LOCAL_WRITE)

// 15. Post the read, wait, and look at the data.
client.queuePair().postRead(9, target.slice(0, source.length()), source.remote())
client.completionQueue().await(Duration.ofSeconds(5)).orThrow()
target.segment().getString(0)

// The third part uses nodes. A channel between two nodes carries messages and calls, and needs neither keys nor buffers of
// your own. Without a device, the same lines run over TCP.

// 16. Two nodes of this program, and a message from one to the other.
var nodes = nodes()
var timeout = Duration.ofSeconds(10)
var message = nodes.left().channel().message(timeout)
message.memory().setString(0, "over a channel")
nodes.left().channel().send(message.length(15), timeout)
nodes.right().channel().receive(timeout).segment().getString(0)

// 17. A node answers requests by a handler. This channel leads to one that answers with the bytes of the request.
var channel = channel()
var request = channel.message(timeout).length(8)
request.segment().set(JAVA_LONG_UNALIGNED, 0, 42)
channel.call(request, timeout).segment().get(JAVA_LONG_UNALIGNED, 0)

// 18. Measure the latency. This shell has the methods devices(), open(), gids(), pair(), again(pair), latency(pair),
//     nodes(), channel(), arena().
var measured = latency(pair())

// 19. Clean up, also the objects made by the methods of the shell.
session.close()
arena().close()
// That is all. 'scripts/jshell' starts a shell of your own.
