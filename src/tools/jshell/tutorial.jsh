// RDMA in Java, step by step. What begins with an arrow is what JShell answers.
// First with the verbs alone: two queue pairs of one device, connected by hand. Every RDMA program has these steps,
// whether the peer is in the same process, as here, or at the other end of a data centre.

// 1. The device list. (ibv_get_device_list)
var devices = Device.list()
var device = devices.getFirst()

// 2. Open it. One arena owns all that follows, and closes it in the right order. (ibv_open_device)
var arena = VerbsArena.ofShared()
var context = device.open(arena)
context.port(1)
// The addresses it has. On RoCE a peer is reached by a GID, which is made of an IP address.
context.gids()
context.bestGid(1)

// 3. A protection domain: what is made in it may be used together, and with nothing else. (ibv_alloc_pd)
var domain = context.allocateProtectionDomain()

// 4. Memory regions: memory that the adapter may use. A region has two keys: the local one goes into work requests, the
//    remote one is what a peer needs, together with the address. (ibv_reg_mr)
var here = domain.register(arena.allocate(64, 64), LOCAL_WRITE)
var there = domain.register(arena.allocateFrom("remote memory"), LOCAL_WRITE, REMOTE_READ)
here.localKey()
there.remoteKey()
// What the peer is told: 16 bytes, which can go over any channel.
var secret = there.remote()

// 5. A completion queue, where the adapter tells what it has done. (ibv_create_cq)
var queue = context.createCompletionQueue(16)

// 6. Two queue pairs. Each has a queue for what is sent and one for what is received. (ibv_create_qp)
var left = domain.createQueuePair(QueuePair.rc(queue))
var right = domain.createQueuePair(QueuePair.rc(queue))
left.state()

// 7. Connect them: each is told the other's number, first packet and address, then goes through three states.
//    INIT: receives can be posted. RTR: ready to receive. RTS: ready to send. (ibv_modify_qp)
var peer = right.endpoint()
left.modify(QueuePairAttributes.to(QueuePairState.INIT).pkeyIndex(0).port(1).access(Set.of()))
left.state()
left.modify(QueuePairAttributes.to(QueuePairState.RTR).addressVector(left.pathTo(peer)).pathMtu(context.port(1).activeMtu()).destinationQueuePair(peer.queuePairNumber()).receivePsn(peer.packetSequenceNumber()).maxDestinationReadAtomic(1).minRnrTimer(12))
left.state()
left.modify(QueuePairAttributes.to(QueuePairState.RTS).sendPsn(left.endpoint().packetSequenceNumber()).timeout(14).retryCount(6).rnrRetry(7).maxReadAtomic(1))
left.state()
// The same in one word, for the other one.
right.connect(left.endpoint())
right.state()

// 8. Post a work request: read the peer's memory. The peer's program takes no part in it. (ibv_post_send)
left.postRead(7, here.slice(0, secret.length()), secret)

// 9. Poll until it is done, or wait, as here. A completion tells which request, and how it went. (ibv_poll_cq)
queue.await(Duration.ofSeconds(5)).orThrow()
here.segment().getString(0)

// 10. A wrong key: the peer's adapter refuses, and the completion says so. Both queue pairs are in the error state then.
left.postRead(8, here.slice(0, 8), new RemoteMemory(secret.address(), ~secret.key(), 8))
queue.await(Duration.ofSeconds(5))
left.query().state()

// 11. Clean up, in reverse order: queue pairs, completion queue, regions, domain, context. Closing the arena does it.
left.close()
arena.close()

// Now the same through the connection manager, which finds the way to an IP address and connects queue pairs. It is what
// most programs use. The peer is a thread of this shell.
var session = VerbsArena.ofShared()
var address = new InetSocketAddress(open().bestGid(1).gid().toInetAddress(), 7999)

// 12. A server listens, and accepts one client. (rdma_bind_addr, rdma_listen, rdma_accept)
var listener = Listener.open(address, session)
var served = CompletableFuture.supplyAsync(() -> { try { return listener.accept(Duration.ofSeconds(10)); } catch (InterruptedException e) { throw new RuntimeException(e); } })

// 13. A client connects: no numbers, no states. (rdma_resolve_addr, rdma_resolve_route, rdma_connect)
var client = dev.verbena.cm.Connection.open(address, Duration.ofSeconds(10), session)
var server = served.get()
client.queuePair().state()

// 14. The server has memory for the client to read, the client some to read into.
var source = server.register(session.allocateFrom("read through the connection manager"), REMOTE_READ)
var target = client.register(session.allocate(64, 64), LOCAL_WRITE)

// 15. Post, wait, look.
client.queuePair().postRead(9, target.slice(0, source.length()), source.remote())
client.completions().await(Duration.ofSeconds(5)).orThrow()
target.segment().getString(0)

// 16. How long does it take? The words of this shell: devices(), open(), gids(), pair(), latency(pair), arena().
var measured = latency(pair())

// 17. Clean up, also what the words of the shell have made.
session.close()
arena().close()
// That is all. 'scripts/jshell' gives you a shell of your own.
