package dev.verbena.verbs;

import static dev.verbena.verbs.AccessFlag.LOCAL_WRITE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.verbena.support.ArenaKind;
import dev.verbena.support.Fenced;
import dev.verbena.support.FencedTest;
import dev.verbena.support.Loopback;
import java.lang.foreign.MemorySegment;
import java.util.Set;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Each request that a batch or a queue pair refuses before C sees it, which leaves the batch as it was. */
@FencedTest
class RefusedRequestsTest {
    private static final long GIB4 = 1L << 32;

    /** A connected queue pair with its batches: the sends have room for two requests of three pieces each. */
    private static final class Posts implements AutoCloseable {
        final Loopback loopback;
        final QueuePair pair;
        final SendBatch sends;
        final ReceiveBatch receives;
        final LocalMemory local;
        final LocalMemory seven;
        final LocalMemory foreign;
        final RemoteMemory remote;
        final MemoryWindow window;
        final MemoryRegion region;

        Posts(boolean extended) {
            PostWay way = new PostWay("post", ArenaKind.CONFINED, extended, true);
            loopback = way.connected(options -> options.tsoHeader(200));
            pair = loopback.left.pair;
            sends = pair.sendBatch(2);
            receives = pair.receiveBatch(2);
            local = loopback.left.buffer.slice(64, 40);
            seven = loopback.left.buffer.slice(0, 7);
            remote = far(64);
            ProtectionDomain other = loopback.context.allocateProtectionDomain();
            foreign = other.register(loopback.arena.allocate(64, 64), LOCAL_WRITE);
            window = other.allocateMemoryWindow(MemoryWindow.Type.TYPE_2);
            region = loopback.domain.register(loopback.arena.allocate(64), LOCAL_WRITE, AccessFlag.MW_BIND);
        }

        /** Returns memory of any length that needs no pages. */
        MemoryRegion endless(long length) {
            return loopback.domain.registerAddressSpace(LOCAL_WRITE).region(MemorySegment.NULL.reinterpret(length));
        }

        long most() {
            return loopback.context.port(1).maxMessageSize();
        }

        /** Returns one byte more than a request takes. */
        MemorySegment tooLong() {
            return bytes(pair.capabilities().inlineSize() + 1);
        }

        RemoteMemory far(long length) {
            return loopback.right.buffer.remote().slice(0, length);
        }

        RemoteMemory odd(long offset) {
            return loopback.right.buffer.remote().slice(offset, 8);
        }

        SendBatch write(long length) {
            return sends.write(1, local, far(length));
        }

        SendBatch full() {
            return sends.send(1, local).send(2, local);
        }

        ReceiveBatch fullReceives() {
            return receives.receive(1, local).receive(2, local);
        }

        SendBatch datagrams() {
            return loopback.domain
                    .createQueuePair(QueuePair.ud(loopback.left.queue))
                    .sendBatch(1);
        }

        SendBatch xrc() {
            return loopback.domain
                    .createQueuePair(QueuePair.xrcSend(loopback.left.queue))
                    .sendBatch(1);
        }

        /** Returns a queue pair that sends datagrams. */
        QueuePair ready() {
            QueuePairOptions options = QueuePair.ud(loopback.left.queue).inlineSize(16);
            QueuePair ready = loopback.domain.createQueuePair(
                    pair.isExtended()
                            ? options.operations(
                                    QueuePairOptions.OfferedOperation.usual(QueuePairOptions.TYPE.of(options)))
                            : options);
            ready.toReady(7);
            return ready;
        }

        AddressHandle closedPath() {
            AddressHandle path = path();
            path.close();
            return path;
        }

        /** Returns a batch whose only request names an address that is closed. */
        SendBatch toClosed() {
            AddressHandle path = path();
            SendBatch batch = ready().sendBatch(1).send(1, local).to(path, 1, 1);
            path.close();
            return batch;
        }

        AddressHandle foreignPath() {
            return loopback.context.allocateProtectionDomain().createAddressHandle(pair.pathTo(pair.endpoint()));
        }

        LocalMemory beyondTheMtu() {
            return loopback.left.buffer.slice(
                    0, loopback.context.port(1).activeMtu().bytes() + 1);
        }

        AddressHandle path() {
            return loopback.domain.createAddressHandle(pair.pathTo(pair.endpoint()));
        }

        QueuePair unreliable() {
            QueuePair unreliable = loopback.domain.createQueuePair(QueuePair.uc(loopback.left.queue));
            unreliable.connect(unreliable.endpoint());
            return unreliable;
        }

        @Override
        public void close() {
            loopback.close();
        }
    }

    /**
     * A request that is refused.
     *
     * @param left the number of requests that were taken before
     * @param words a regular expression that the message has
     */
    private record Refusal(
            String name, int left, Class<? extends Exception> exception, String words, Consumer<Posts> request) {
        @Override
        public String toString() {
            return name;
        }
    }

    private static Refusal bounds(String name, String words, Consumer<Posts> request) {
        return new Refusal(name, 0, IndexOutOfBoundsException.class, words, request);
    }

    private static Refusal bounds(String name, Consumer<Posts> request) {
        return bounds(name, "", request);
    }

    private static Refusal argument(String name, String words, Consumer<Posts> request) {
        return new Refusal(name, 0, IllegalArgumentException.class, words, request);
    }

    private static Refusal argument(String name, Consumer<Posts> request) {
        return argument(name, "", request);
    }

    private static Refusal state(String name, String words, Consumer<Posts> request) {
        return new Refusal(name, 0, IllegalStateException.class, words, request);
    }

    private static Refusal state(String name, Consumer<Posts> request) {
        return state(name, "", request);
    }

    private static Refusal empty(String name, Consumer<Posts> request) {
        return state(name + " of an empty batch", "The batch is empty", request);
    }

    private static Refusal full(String name, Consumer<Posts> request) {
        return afterTwo(state(name + " to a full batch", "The batch is full: it was made for 2 requests", request));
    }

    private static Refusal afterOne(Refusal row) {
        return new Refusal(row.name, 1, row.exception, row.words, row.request);
    }

    private static Refusal afterTwo(Refusal row) {
        return new Refusal(row.name, 2, row.exception, row.words, row.request);
    }

    private static MemorySegment bytes(int length) {
        return MemorySegment.ofArray(new byte[length]);
    }

    private static Stream<Refusal> lengths() {
        return Stream.of(
                bounds("write beyond the remote memory", f -> f.sends.write(1, f.local, f.far(39))),
                bounds("read beyond the remote memory", f -> f.sends.read(1, f.local, f.far(39))),
                bounds("single write beyond the remote memory", f -> f.pair.postWrite(1, f.local, f.far(39))),
                bounds("single read beyond the remote memory", f -> f.pair.postRead(1, f.local, f.far(39))),
                afterOne(bounds(
                        "second piece beyond the remote memory",
                        f -> f.write(46).and(f.seven))),
                afterOne(bounds(
                        "third piece beyond the remote memory",
                        f -> f.write(47).and(f.seven).and(f.seven))),
                afterOne(bounds(
                        "range beyond the remote memory",
                        "at most 46.*got 47",
                        f -> f.write(46).range(f.loopback.left.buffer, 0, 47))),
                bounds("add to seven bytes", f -> f.sends.fetchAndAdd(1, f.local, f.far(7), 1)),
                bounds("add into seven bytes", f -> f.sends.fetchAndAdd(1, f.seven, f.remote, 1)),
                bounds("single add into seven bytes", f -> f.pair.postFetchAndAdd(1, f.seven, f.remote, 1)),
                bounds("single swap of seven bytes", f -> f.pair.postCompareAndSwap(1, f.local, f.far(7), 1, 2)),
                afterOne(bounds(
                        "second piece of an add",
                        "at most 0",
                        f -> f.sends.fetchAndAdd(1, f.local, f.remote, 1).and(f.seven))),
                bounds("atomic write to seven bytes", f -> f.sends.atomicWrite(1, 2, f.far(7))),
                bounds("single atomic write to seven bytes", f -> f.pair.postAtomicWrite(1, 2, f.far(7))),
                argument("add at 4", "multiple of 8", f -> f.sends.fetchAndAdd(1, f.local, f.odd(4), 1)),
                argument("single add at 4", "multiple of 8", f -> f.pair.postFetchAndAdd(1, f.local, f.odd(4), 1)),
                argument(
                        "single swap at 1",
                        "multiple of 8",
                        f -> f.pair.postCompareAndSwap(1, f.local, f.odd(1), 1, 2)),
                argument("atomic write at 4", "multiple of 8", f -> f.sends.atomicWrite(1, 2, f.odd(4))),
                argument("single atomic write at 4", "multiple of 8", f -> f.pair.postAtomicWrite(1, 2, f.odd(4))),
                bounds("message beyond the port's limit", "message", f -> f.sends.send(1, f.endless(f.most() + 1))),
                afterOne(bounds(
                        "second piece beyond the port's limit",
                        "message",
                        f -> f.sends.send(1, f.endless(f.most())).and(f.seven))),
                afterOne(bounds(
                        "range beyond the port's limit",
                        "at most ",
                        f -> f.sends.send(1, f.seven).range(f.endless(f.most() + 1), 0, f.most() + 1))),
                bounds("receive of 4 GiB", f -> f.receives.receive(1, f.endless(GIB4))),
                bounds(
                        "single receive of 4 GiB",
                        "4 GiB - 1.*got 4294967296",
                        f -> f.pair.postReceive(1, f.endless(GIB4))),
                afterOne(bounds(
                        "range of a receive of 4 GiB",
                        f -> f.receives.receive(1, f.seven).range(f.endless(GIB4), 0, GIB4))),
                afterOne(bounds(
                        "piece of a receive of 4 GiB",
                        f -> f.receives.receive(1, f.seven).and(f.endless(GIB4)))));
    }

    private static Stream<Refusal> inlineData() {
        return Stream.of(
                bounds(
                        "inline send, too long",
                        "at most 64 for this queue pair, got 65",
                        f -> f.sends.sendInline(1, f.tooLong())),
                bounds("inline write, too long", f -> f.sends.writeInline(1, f.tooLong(), f.far(4096))),
                bounds("single inline send, too long", "got .*inlineSize", f -> f.pair.postSendInline(1, f.tooLong())),
                bounds("single inline write, too long", f -> f.pair.postWriteInline(1, f.tooLong(), f.far(4096))),
                bounds(
                        "single inline write beyond the remote memory",
                        f -> f.pair.postWriteInline(1, bytes(8), f.far(7))),
                afterOne(bounds(
                        "more inline data, too long",
                        f -> f.sends.sendInline(1, f.tooLong().asSlice(1)).andInline(bytes(1)))),
                afterOne(bounds(
                        "more inline data beyond the remote memory",
                        f -> f.sends
                                .writeInline(2, bytes(4), f.far(5))
                                .andInline(bytes(1))
                                .andInline(bytes(1)))),
                afterOne(state(
                        "memory behind inline data",
                        "inline",
                        f -> f.sends.sendInline(1, bytes(8)).and(f.local))),
                afterOne(state(
                        "inline data behind memory",
                        f -> f.sends.send(1, f.local).andInline(bytes(1)))),
                afterTwo(state(
                        "inline data for an earlier request",
                        f -> f.sends
                                .sendInline(1, bytes(1))
                                .send(2, f.local)
                                .at(0)
                                .andInline(bytes(1)))),
                afterTwo(state(
                        "memory for an earlier request",
                        "added last",
                        f -> f.full().at(0).and(f.local))),
                bounds("header, too long", "at most 200.*got 201", f -> f.sends.segmented(1, bytes(201), 9, f.local)),
                argument("segments of 64 KiB", "segment size", f -> f.sends.segmented(1, bytes(5), 0x10000, f.local)));
    }

    private static Stream<Refusal> kinds() {
        return Stream.of(
                afterOne(state(
                        "immediate data of a read",
                        "RDMA_READ",
                        f -> f.sends.read(1, f.local, f.remote).immediate(1))),
                afterOne(state(
                        "invalidation by a write",
                        "RDMA_WRITE",
                        f -> f.write(64).invalidate(7))),
                afterOne(state(
                        "memory of an invalidation",
                        f -> f.sends.localInvalidate(1, 5).and(f.local))),
                afterOne(state(
                        "immediate data of an invalidation",
                        f -> f.sends.localInvalidate(1, 5).immediate(1))),
                afterOne(state(
                        "destination of a connected pair",
                        "Only datagrams",
                        f -> f.sends.send(1, f.local).to(f.path(), 1, 1))),
                afterOne(state(
                        "shared queue of a connected pair",
                        f -> f.sends.send(1, f.local).toShared(1))),
                state("read of UC", "UC has no RDMA_READ", f -> f.unreliable().postRead(1, f.local, f.remote)),
                state(
                        "add of UC",
                        "UC has no FETCH_AND_ADD",
                        f -> f.unreliable().postFetchAndAdd(1, f.local, f.remote, 1)),
                state(
                        "swap of UC",
                        "UC has no COMPARE_AND_SWAP",
                        f -> f.unreliable().postCompareAndSwap(1, f.local, f.remote, 1, 2)),
                argument(
                        "queue pair number of 25 bits",
                        f -> f.datagrams().send(1, f.local).to(f.path(), 0x1000000, 1)),
                argument(
                        "flush to nowhere",
                        "none",
                        f -> f.sends.flush(1, f.remote, SendBatch.FlushLevel.RANGE, Set.of())),
                argument(
                        "send of another domain's memory",
                        "another protection domain",
                        f -> f.pair.postSend(1, f.foreign)),
                argument(
                        "receive of another domain's memory",
                        "another protection domain",
                        f -> f.pair.postReceive(1, f.foreign)),
                afterOne(argument(
                        "piece of another domain's memory",
                        f -> f.sends.send(1, f.seven).and(f.foreign))),
                argument(
                        "binding of another domain's window",
                        "another",
                        f -> f.sends.bind(1, f.window, f.region, Set.of())));
    }

    private static Stream<Refusal> datagrams() {
        return Stream.of(
                state(
                        "datagram without an address",
                        "without an address",
                        f -> f.ready().postSend(1, f.local)),
                state(
                        "batch without an address",
                        "Request 0 is a datagram without an address",
                        f -> f.ready().sendBatch(1).send(1, f.local).post()),
                state(
                        "datagram to a closed address",
                        "address handle.*is closed",
                        f -> f.ready().postSendInline(2, bytes(1), f.closedPath(), 1, 0)),
                state(
                        "batch to a closed address",
                        "address handle.*is closed",
                        f -> f.toClosed().post()),
                argument(
                        "datagram to another domain's address",
                        "another protection domain",
                        f -> f.ready().postSendInline(1, bytes(1), f.foreignPath(), 1, 0)),
                bounds("datagram beyond the MTU", f -> f.ready().postSend(1, f.beyondTheMtu(), f.path(), 1, 1)),
                state(
                        "write of datagrams",
                        "(UD has no|made without) RDMA_WRITE",
                        f -> f.ready().postWrite(1, f.local, f.remote)),
                state(
                        "read of datagrams",
                        "(UD has no|made without) RDMA_READ",
                        f -> f.ready().postRead(1, f.local, f.remote)));
    }

    private static Stream<Refusal> numbers() {
        return Stream.of(
                full("send", f -> f.full().send(3, f.local)),
                full("send of nothing", f -> f.full().send(3)),
                full("write", f -> f.full().write(3, f.local, f.remote)),
                full("read", f -> f.full().read(3, f.local, f.remote)),
                full("inline send", f -> f.full().sendInline(3, bytes(60))),
                full("inline write", f -> f.full().writeInline(3, bytes(60), f.remote)),
                full("add", f -> f.full().fetchAndAdd(3, f.local, f.remote, 1)),
                full("invalidation", f -> f.full().localInvalidate(3, 3)),
                full("receive", f -> f.fullReceives().receive(3, f.local)),
                full("receive of nothing", f -> f.fullReceives().receive(3)),
                empty("fence", f -> f.sends.fence()),
                empty("fence after clear", f -> f.sends.send(1).clear().fence()),
                empty("solicited", f -> f.sends.solicited()),
                empty("unsignaled", f -> f.sends.unsignaled()),
                empty("id", f -> f.sends.id(1)),
                empty("immediate data", f -> f.sends.immediate(1)),
                empty("invalidation", f -> f.sends.invalidate(1)),
                empty("memory", f -> f.sends.and(f.local)),
                empty("inline data", f -> f.sends.andInline(bytes(1))),
                empty("destination", f -> f.datagrams().to(f.path(), 1, 2)),
                empty("shared queue", f -> f.xrc().toShared(1)),
                empty("memory of receives", f -> f.receives.and(f.local)),
                empty("range of receives", f -> f.receives.range(f.local, 0, 1)),
                afterOne(state(
                        "fourth piece of a send",
                        "at most 3 pieces",
                        f -> f.sends.send(1, f.local).and(f.local).and(f.local).and(f.local))),
                afterOne(state(
                        "fourth piece of a receive",
                        "at most 3 pieces",
                        f -> f.receives
                                .receive(1, f.local)
                                .and(f.local)
                                .and(f.local)
                                .and(f.local))),
                afterOne(bounds("request behind the last", f -> f.sends.send(1).at(1))),
                afterOne(bounds("request before the first", f -> f.sends.send(1).at(-1))),
                afterOne(bounds(
                        "id of a request behind the last", f -> f.sends.send(1).id(1, 1))),
                argument("batch of no sends", f -> f.pair.sendBatch(0)),
                argument("batch of less than no receives", f -> f.pair.receiveBatch(-1)));
    }

    static Stream<Arguments> refusals() {
        return Stream.of(true, false)
                .flatMap(extended -> Stream.of(lengths(), inlineData(), kinds(), datagrams(), numbers())
                        .flatMap(rows -> rows)
                        .filter(row -> extended || !row.name.matches("(single )?atomic write .*|flush .*"))
                        .map(row -> Arguments.of(row, extended)));
    }

    @ParameterizedTest(name = "{0}, extended queue pair: {1}")
    @MethodSource("refusals")
    void requestIsRefusedBeforeC(Refusal refusal, boolean extended) throws InterruptedException {
        try (Posts posts = new Posts(extended)) {
            assertThatThrownBy(() -> refusal.request.accept(posts))
                    .isInstanceOf(refusal.exception)
                    .message()
                    .containsPattern(refusal.words);
            assertThat(posts.sends.size() + posts.receives.size()).isEqualTo(refusal.left);
            assertThat(Fenced.calls("ibv_post_send") + Fenced.calls("ibv_post_recv"))
                    .isZero();
            posts.pair.postWrite(77, posts.local, posts.remote);
            PostWay.done(posts.loopback, 77);
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void emptyAndFullBatchesArePosted(boolean extended) {
        try (Posts posts = new Posts(extended)) {
            assertThat(posts.sends.post()).isZero();
            assertThat(posts.receives.post()).isZero();
            assertThat(posts.pair.sendBatch(1).capacity()).isOne();
            assertThat(posts.sends.send(1, posts.local))
                    .hasToString(posts.sends.path.verb() + " batch of 1 (of 2) for " + posts.pair);
            posts.sends.clear();
            assertThatThrownBy(() -> posts.full().write(3, posts.local, posts.remote))
                    .isInstanceOf(IllegalStateException.class);
            assertThat(posts.sends.post()).isEqualTo(2);
            assertThat(PostedRequest.latest(2).stream().map(request -> request.text(posts.loopback)))
                    .containsExactly("1 SEND signaled left+64:40", "2 SEND signaled left+64:40");
        }
    }

    /** The first receive alone comes after a batch. */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void receivesOfLessThanFourGigabytesArePosted(boolean extended) {
        try (Posts posts = new Posts(extended)) {
            MemoryRegion region = posts.endless(GIB4);
            posts.receives.receive(1, region.slice(0, GIB4 - 1));
            assertThat(posts.receives.range(region, 1, GIB4 - 1)).isSameAs(posts.receives);
            posts.receives.post();
            PostedRequest.Piece most = new PostedRequest.Piece(1, -1, region.localKey());
            assertThat(PostedRequest.last().pieces()).containsExactly(most);
            posts.pair.postReceive(2, region.slice(1, GIB4 - 1));
            assertThat(PostedRequest.last().pieces()).containsExactly(most);
        }
    }
}
