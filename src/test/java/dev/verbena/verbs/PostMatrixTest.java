package dev.verbena.verbs;

import static dev.verbena.verbs.PostWay.done;
import static dev.verbena.verbs.PostWay.local;
import static dev.verbena.verbs.PostWay.receives;
import static dev.verbena.verbs.PostWay.remote;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.verbena.internal.Errno;
import dev.verbena.support.ArenaKind;
import dev.verbena.support.Fenced;
import dev.verbena.support.FencedTest;
import dev.verbena.support.Loopback;
import dev.verbena.support.OtherThread;
import dev.verbena.verbs.SendBatch.FlushLevel;
import dev.verbena.verbs.SendBatch.FlushPlacement;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.function.BiConsumer;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** Each kind of request as the driver receives it, by each way to the driver, alone, in a batch, and after each other. */
@FencedTest
class PostMatrixTest {
    private static final long FIRST_ID = 5_000_000_000L;
    private static final MemorySegment LEFT =
            bytes(IntStream.range(0, Loopback.SIZE).map(i -> i * 7).toArray());
    private static final MemorySegment RIGHT =
            bytes(IntStream.range(0, Loopback.SIZE).map(i -> i * 11 + 3).toArray());

    /** Objects of a way. Memory is filled with bytes of its own, so that what did not move is seen. */
    static final class Posts implements AutoCloseable {
        final PostWay way;
        final Loopback loopback;
        final CompletionQueue receives;
        final QueuePair datagrams;
        final QueuePair xrc;
        final CompletionQueue bindings;
        final QueuePair binder;
        final AddressHandle path;
        final List<MemoryWindow> windows;
        final MemoryRegion region;

        Posts(PostWay way) {
            this.way = way;
            loopback = way.connected(options -> options.inlineSize(67).tsoHeader(40));
            receives = Objects.requireNonNull(QueuePairOptions.RECEIVE_QUEUE.of(loopback.right.pair.options));
            CompletionQueue queue = loopback.left.queue;
            QueuePairOptions ud = QueuePair.ud(queue).inlineSize(16);
            datagrams = loopback.domain.createQueuePair(
                    way.extended()
                            ? ud.operations(QueuePairOptions.OfferedOperation.usual(QueuePairOptions.TYPE.of(ud)))
                            : ud);
            datagrams.toReady(0x1234567);
            path = loopback.domain.createAddressHandle(datagrams.pathTo(datagrams.endpoint()));
            xrc = loopback.domain.createQueuePair(way.options(QueuePair.xrcSend(queue)));
            xrc.connect(loopback.right.pair.endpoint());
            bindings = loopback.context.createCompletionQueue(4);
            binder = loopback.domain.createQueuePair(QueuePair.rc(bindings));
            binder.connect(binder.endpoint());
            windows = Stream.generate(() -> loopback.domain.allocateMemoryWindow(MemoryWindow.Type.TYPE_2))
                    .limit(10)
                    .toList();
            region = loopback.domain.register(
                    loopback.arena.allocate(4096, 64),
                    AccessFlag.LOCAL_WRITE,
                    AccessFlag.REMOTE_READ,
                    AccessFlag.MW_BIND);
            fill();
        }

        void fill() {
            loopback.left.buffer.segment().copyFrom(LEFT);
            loopback.right.buffer.segment().copyFrom(RIGHT);
        }

        /** Binds a window by another queue pair, and returns its key. */
        int bound(int i) {
            SendBatch batch = binder.sendBatch(1);
            batch.bind(1, windows.get(i), region.slice(0, 64), Set.of(AccessFlag.REMOTE_READ))
                    .post();
            assertThat(bindings.poll()).isNotNull().matches(WorkCompletion::isSuccess);
            return windows.get(i).key();
        }

        /** Ends a binding, so that the window can be bound again. */
        private void unbind(int i) {
            binder.postLocalInvalidate(2, windows.get(i).key());
            assertThat(bindings.poll()).isNotNull().matches(WorkCompletion::isSuccess);
        }

        QueuePair pair(Kind kind) {
            return switch (kind.transport()) {
                case "UD" -> datagrams;
                case "XRC" -> xrc;
                default -> loopback.left.pair;
            };
        }

        boolean isExtended(Kind kind) {
            // Some releases of soft-RoCE mistake pieces of several lengths in the functions of an extended queue pair.
            boolean mistaken = kind.name.contains("of several lengths")
                    && loopback.context.provider().equalPieces();
            return way.extended() && !mistaken;
        }

        String text(PostedRequest request, Kind kind) {
            return request.text(loopback)
                    + switch (kind.transport()) {
                        case "UD" -> request.destination();
                        case "XRC" -> " shared " + request.sharedReceiveQueue();
                        default -> "";
                    };
        }

        String expected(Kind kind, int i) {
            String binding = PostedRequest.binding(
                    windows.get(i).address(),
                    windows.get(i).key(),
                    region.structure(),
                    region.address() + 128,
                    256,
                    AccessFlag.REMOTE_READ.bit);
            String fields = kind.text
                    .replace("{here}", "left+" + 64 * i + ":" + (9 + i))
                    .replace("{there}", "right+" + (4096 + 128 * i))
                    .replace("{at}", "left+" + 64 * i)
                    .replace("{i}", Integer.toString(i))
                    .replace(
                            "{many}",
                            IntStream.of(MANY).mapToObj(Integer::toString).collect(Collectors.joining(" ")))
                    .replace("{key}", Integer.toHexString(windows.get(i).key()))
                    .replace("{none}", way.extended() ? " 0 key 0:0" : "")
                    .replace("{binding}", binding + (way.extended() ? "" : " immediate 0"));
            String destination = " to %x 12345%d 89abcde%d".formatted(path.address(), i, i);
            return FIRST_ID + i + " " + fields + (kind.transport().equals("UD") ? destination : "");
        }

        /** Checks the latest requests and waits for them: the ith of them was added with the ith number. */
        void check(List<Kind> kinds, @Nullable SendBatch batch, int... numbers) throws InterruptedException {
            List<PostedRequest> posted = PostedRequest.latest(kinds.size());
            for (int i = 0; i < kinds.size(); i++) {
                Kind kind = kinds.get(i);
                PostedRequest request = posted.get(i);
                assertThat(text(request, kind)).isEqualTo(expected(kind, numbers[i]));
                assertThat(request.queue()).isEqualTo(pair(kind).number());
                assertThat(request.isExtended()).as(kind.name).isEqualTo(isExtended(kind));
                if (batch != null && (request.flags() & PostedRequest.INLINE) != 0) {
                    long at = request.pieces().getFirst().address() - batch.memory.address();
                    assertThat(at < 0 || at >= batch.memory.byteSize())
                            .as("a function of an extended queue pair copies the data")
                            .isEqualTo(way.extended());
                }
            }
            for (int i = 0; i < kinds.size(); i++) {
                complete(kinds.get(i), posted.get(i), numbers[i]);
            }
            assertThat(loopback.left.queue.poll()).isNull();
        }

        private void complete(Kind kind, PostedRequest request, int i) throws InterruptedException {
            if (kind.text.contains(" signaled")) {
                assertThat(loopback.left.done().id()).isEqualTo(FIRST_ID + i);
            }
            MemorySegment there = MemorySegment.NULL;
            if (kind.isReceived()) {
                WorkCompletion received = receives.await(Loopback.DEADLINE).orThrow();
                there = loopback.right.buffer.segment().asSlice(64 * (received.id() - 1000), 64);
            }
            byte[] bytes = request.bytes();
            switch (request.operation()) {
                case SEND, SEND_WITH_IMMEDIATE, SEND_WITH_INVALIDATE -> {
                    if (kind.isReceived()) {
                        assertThat(there.asSlice(0, bytes.length).toArray(ValueLayout.JAVA_BYTE))
                                .isEqualTo(bytes);
                    }
                }
                case RDMA_WRITE, RDMA_WRITE_WITH_IMMEDIATE, RDMA_READ ->
                    assertThat(request.remoteMemory(bytes.length).toArray(ValueLayout.JAVA_BYTE))
                            .isEqualTo(bytes);
                case BIND_MW -> unbind(i);
                default -> {}
            }
        }

        @Override
        public void close() {
            loopback.close();
        }
    }

    /** One request to post, with an id and memory of its own. */
    static final class One {
        final Posts posts;
        final int i;
        final long id;
        final LocalMemory here;
        final RemoteMemory there;

        One(Posts posts, int i) {
            this.posts = posts;
            this.i = i;
            id = FIRST_ID + i;
            here = local(posts.loopback, i);
            there = remote(posts.loopback, i);
        }

        LocalMemory at(long offset, int length) {
            return posts.loopback.left.buffer.slice(offset, length);
        }

        RemoteMemory there(long length) {
            return posts.loopback.right.buffer.remote().slice(4096 + 128L * i, length);
        }

        SendBatch to(SendBatch batch) {
            return batch.to(posts.path, 0x123450 + i, 0x89abcde0 + i);
        }

        SendBatch flush(SendBatch batch, FlushLevel level, FlushPlacement... places) {
            return batch.flush(id, there.slice(0, 24), level, Set.of(places));
        }
    }

    /**
     * A kind of request.
     *
     * @param text the fields that the driver receives, behind the id; names in braces stand for memory and numbers
     */
    record Kind(String name, String text, BiConsumer<One, SendBatch> batched) {
        String transport() {
            return name.startsWith("datagram") ? "UD" : name.startsWith("XRC") ? "XRC" : "RC";
        }

        Operation operation() {
            return Operation.valueOf(text.split(" ")[0]);
        }

        boolean isReceived() {
            return transport().equals("RC") && (text.startsWith("SEND") || text.contains("WITH_IMMEDIATE"));
        }

        /** Returns false for the end of a binding, which only comes once. */
        boolean isRepeatable() {
            return !name.equals("invalidation");
        }

        /** Returns true if posts of this kind alone need no more checks once the first has passed. */
        boolean isOneOperation() {
            return operation().plain() == operation(); // others began as another operation
        }

        @Override
        public String toString() {
            return name;
        }
    }

    private static Kind kind(String name, String text, BiConsumer<One, SendBatch> batched) {
        return new Kind(name, text, batched);
    }

    private static MemorySegment bytes(int... values) {
        byte[] bytes = new byte[values.length];
        for (int i = 0; i < values.length; i++) {
            bytes[i] = (byte) values[i];
        }
        return MemorySegment.ofArray(bytes);
    }

    private static final int[] MANY = IntStream.range(0, 64).toArray();

    static final List<Kind> KINDS = List.of(
            kind("send", "SEND signaled {here}", (p, b) -> b.send(p.id, p.here)),
            kind("send of nothing", "SEND signaled{none}", (p, b) -> b.send(p.id)),
            kind(
                    "send, solicited",
                    "SEND signaled solicited {here}",
                    (p, b) -> b.send(p.id, p.here).solicited()),
            kind(
                    "send with all flags",
                    "SEND fence solicited {here}",
                    (p, b) -> b.send(p.id, p.here).solicited().fence().unsignaled()),
            kind(
                    "send behind nothing",
                    "SEND signaled {here}",
                    (p, b) -> b.send(p.id).and(p.here)),
            kind(
                    "send with immediate data",
                    "SEND_WITH_IMMEDIATE signaled {here} immediate f102030{i}",
                    (p, b) -> b.send(p.id, p.here).immediate(0xf1020300 + p.i)),
            kind(
                    "send with invalidation",
                    "SEND_WITH_INVALIDATE signaled {here} invalidates f566778{i}",
                    (p, b) -> b.send(p.id, p.here).invalidate(3).invalidate(0xf5667780 + p.i)),
            kind("send inline", "SEND signaled inline 6 7 8 {i}", (p, b) -> b.sendInline(p.id, bytes(6, 7, 8, p.i))),
            kind("write", "RDMA_WRITE signaled {here} to {there}", (p, b) -> b.write(p.id, p.here, p.there)),
            kind(
                    "write, unsignaled",
                    "RDMA_WRITE {here} to {there}",
                    (p, b) -> b.write(p.id, p.here, p.there).unsignaled()),
            kind(
                    "write, fenced",
                    "RDMA_WRITE signaled fence {here} to {there}",
                    (p, b) -> b.write(p.id, p.here, p.there).fence()),
            kind(
                    "write of pieces",
                    "RDMA_WRITE signaled left+960:8 left+1024:8 left+2048:8 to {there}",
                    (p, b) -> b.write(p.id, p.at(960, 8), p.there)
                            .and(p.at(1024, 8))
                            .and(p.at(2048, 8))),
            kind(
                    "write of several lengths",
                    "RDMA_WRITE signaled left+960:5 left+1024:6 to {there}",
                    (p, b) -> b.write(p.id, p.at(960, 5), p.there).and(p.at(1024, 6))),
            kind(
                    "write of a range",
                    "RDMA_WRITE signaled left+100{i}:1{i} to {there}",
                    (p, b) -> b.write(p.id, p.here, p.there).range(p.at(1000, 100), p.i, 10 + p.i)),
            kind(
                    "write with immediate data",
                    "RDMA_WRITE_WITH_IMMEDIATE signaled {here} to {there} immediate fffffff{i}",
                    (p, b) -> b.write(p.id, p.here, p.there).immediate(p.i - 16)),
            kind(
                    "write inline",
                    "RDMA_WRITE signaled inline 9 {i} to {there}",
                    (p, b) -> b.writeInline(p.id, bytes(9, p.i), p.there)),
            kind(
                    "write inline, longest",
                    "RDMA_WRITE signaled inline {many} 1 2 3 to {there}",
                    (p, b) -> b.writeInline(p.id, bytes(MANY), p.there(67)).andInline(bytes(1, 2, 3))),
            kind("read", "RDMA_READ signaled {here} to {there}", (p, b) -> b.read(p.id, p.here, p.there)),
            kind(
                    "add",
                    "FETCH_AND_ADD signaled {at}:8 to {there} 10000000{i}",
                    (p, b) -> b.fetchAndAdd(p.id, p.here, p.there, 0x1_0000_0000L + p.i)),
            kind(
                    "swap",
                    "COMPARE_AND_SWAP signaled {at}:8 to {there} 20000000{i} 30000000{i}",
                    (p, b) -> b.compareAndSwap(p.id, p.here, p.there, 0x2_0000_0000L + p.i, 0x3_0000_0000L + p.i)),
            kind(
                    "segmented send",
                    "TSO signaled {here} header 11 12 {i} segments 1460",
                    (p, b) -> b.segmented(p.id, bytes(11, 12, p.i), 1460, p.here)),
            kind(
                    "send in long segments",
                    "TSO signaled {here} header {i} segments 65535",
                    (p, b) -> b.segmented(p.id, bytes(p.i), 0xffff, p.here)),
            kind(
                    "binding",
                    "BIND_MW signaled{binding}",
                    (p, b) -> b.bind(
                            p.id,
                            p.posts.windows.get(p.i),
                            p.posts.region.slice(128, 256),
                            Set.of(AccessFlag.REMOTE_READ))),
            kind(
                    "invalidation",
                    "LOCAL_INVALIDATE signaled invalidates {key}",
                    (p, b) -> b.localInvalidate(p.id, p.posts.bound(p.i))),
            kind(
                    "atomic write",
                    "ATOMIC_WRITE signaled to {there} 112233445566778{i}",
                    (p, b) -> b.atomicWrite(p.id, 0x1122334455667780L + p.i, p.there)),
            kind(
                    "flush of a region",
                    "FLUSH signaled to {there} 18 100000002",
                    (p, b) -> p.flush(b, FlushLevel.MEMORY_REGION, FlushPlacement.PERSISTENT)),
            kind(
                    "flush of a range",
                    "FLUSH signaled to {there} 18 1",
                    (p, b) -> p.flush(b, FlushLevel.RANGE, FlushPlacement.GLOBAL)),
            kind(
                    "flush to both places",
                    "FLUSH signaled to {there} 18 3",
                    (p, b) -> p.flush(b, FlushLevel.RANGE, FlushPlacement.values())),
            kind("datagram", "SEND signaled {here}", (p, b) -> p.to(b.send(p.id, p.here))),
            kind(
                    "datagram with immediate data",
                    "SEND_WITH_IMMEDIATE signaled {here} immediate 9{i}",
                    (p, b) -> p.to(b.send(p.id, p.here)).immediate(0x90 + p.i)),
            kind("datagram inline", "SEND signaled inline 7 {i}", (p, b) -> p.to(b.sendInline(p.id, bytes(7, p.i)))),
            kind(
                    "XRC send",
                    "SEND signaled {here} shared 1644167{i}",
                    (p, b) -> b.send(p.id, p.here).toShared(16_441_670 + p.i)),
            kind(
                    "XRC send of nothing",
                    "SEND signaled{none} shared 8{i}",
                    (p, b) -> b.send(p.id).toShared(80 + p.i)),
            kind("XRC send to no shared queue", "SEND signaled {here} shared 0", (p, b) -> b.send(p.id, p.here)),
            kind("XRC send of nothing to no shared queue", "SEND signaled{none} shared 0", (p, b) -> b.send(p.id)));

    /** The kinds that a queue pair also posts without a batch, by name. */
    static final Map<String, BiConsumer<One, QueuePair>> ALONE = Map.ofEntries(
            alone("send", (p, q) -> q.postSend(p.id, p.here)),
            alone("send with immediate data", (p, q) -> q.postSendImmediate(p.id, p.here, 0xf1020300 + p.i)),
            alone("send with invalidation", (p, q) -> q.postSendInvalidate(p.id, p.here, 0xf5667780 + p.i)),
            alone("send inline", (p, q) -> q.postSendInline(p.id, bytes(6, 7, 8, p.i))),
            alone("write", (p, q) -> q.postWrite(p.id, p.here, p.there)),
            alone("write with immediate data", (p, q) -> q.postWriteImmediate(p.id, p.here, p.there, p.i - 16)),
            alone("write inline", (p, q) -> q.postWriteInline(p.id, bytes(9, p.i), p.there)),
            alone("read", (p, q) -> q.postRead(p.id, p.here, p.there)),
            alone("add", (p, q) -> q.postFetchAndAdd(p.id, p.here, p.there, 0x1_0000_0000L + p.i)),
            alone(
                    "swap",
                    (p, q) -> q.postCompareAndSwap(p.id, p.here, p.there, 0x2_0000_0000L + p.i, 0x3_0000_0000L + p.i)),
            alone("invalidation", (p, q) -> q.postLocalInvalidate(p.id, p.posts.bound(p.i))),
            alone("atomic write", (p, q) -> q.postAtomicWrite(p.id, 0x1122334455667780L + p.i, p.there)),
            alone("datagram", (p, q) -> q.postSend(p.id, p.here, p.posts.path, 0x123450 + p.i, 0x89abcde0 + p.i)),
            alone(
                    "datagram with immediate data",
                    (p, q) -> q.postSendImmediate(
                            p.id, p.here, 0x90 + p.i, p.posts.path, 0x123450 + p.i, 0x89abcde0 + p.i)),
            alone(
                    "datagram inline",
                    (p, q) -> q.postSendInline(p.id, bytes(7, p.i), p.posts.path, 0x123450 + p.i, 0x89abcde0 + p.i)));

    private static Map.Entry<String, BiConsumer<One, QueuePair>> alone(String name, BiConsumer<One, QueuePair> post) {
        return Map.entry(name, post);
    }

    static List<Kind> kinds(PostWay way) {
        return KINDS.stream()
                .filter(kind -> way.extended() || !kind.name.matches("atomic write|flush .*"))
                .toList();
    }

    static Stream<PostWay> ways() {
        return PostWay.ways();
    }

    static Stream<Arguments> kindsByWay() {
        return ways().flatMap(way -> kinds(way).stream().map(kind -> Arguments.of(kind, way)));
    }

    /** The first post of a kind is checked more than the later ones, which must write the same fields. */
    @ParameterizedTest
    @MethodSource("kindsByWay")
    void requestHasItsFields(Kind kind, PostWay way) throws InterruptedException {
        for (boolean aloneFirst : new boolean[] {true, false}) {
            try (Posts posts = new Posts(way)) {
                QueuePair pair = posts.pair(kind);
                if (aloneFirst) {
                    postAlone(posts, kind, 8);
                    postAlone(posts, kind, 9);
                }
                SendBatch batch = pair.sendBatch(3);
                for (int size = 3; size >= 1; size--) {
                    batch.clear();
                    int[] numbers = new int[size];
                    for (int i = 0; i < size; i++) {
                        numbers[i] = 2 * size + i - 2;
                        kind.batched.accept(new One(posts, numbers[i]), batch);
                    }
                    for (int round = 0; round < (kind.isRepeatable() ? 2 : 1); round++) {
                        Fenced.fail("ibv_post_send", 1, Errno.ENOMEM);
                        assertThat(catchThrowableOfType(PostException.class, batch::post)
                                        .posted())
                                .isZero();
                        receives(posts.loopback, kind.isReceived() ? size : 0);
                        assertThat(batch.post()).isEqualTo(size);
                        posts.check(Collections.nCopies(size, kind), batch, numbers);
                        posts.fill();
                    }
                    postAlone(posts, kind, 7);
                }
                if (kind.transport().equals("RC")) {
                    assertThat(batch.log.letsThrough(kind.operation().code()))
                            .as(
                                    "only posts of one kind need no more checks, and not those of software that is extended")
                            .isEqualTo(kind.isOneOperation() && way.apart() && !way.extended());
                }
            }
        }
    }

    private static void postAlone(Posts posts, Kind kind, int i) throws InterruptedException {
        BiConsumer<One, QueuePair> alone = ALONE.get(kind.name);
        if (alone != null) {
            receives(posts.loopback, kind.isReceived() ? 1 : 0);
            alone.accept(new One(posts, i), posts.pair(kind));
            posts.check(List.of(kind), null, i);
            posts.fill();
        }
    }

    static Stream<PostWay> waysOfManyThreads() {
        return ways().filter(way -> way.arena() == ArenaKind.SHARED);
    }

    /** Threads but the first share one batch, one after the other: each must give it back. */
    @ParameterizedTest
    @MethodSource("waysOfManyThreads")
    void threadsPostAfterOneAnother(PostWay way) throws Throwable {
        try (Posts posts = new Posts(way)) {
            for (Kind kind : kinds(way)) {
                postAlone(posts, kind, 7);
                for (int i : new int[] {8, 9}) {
                    OtherThread.call(() -> {
                        postAlone(posts, kind, i);
                        return null;
                    });
                }
            }
            MemoryWindow window = posts.loopback.domain.allocateMemoryWindow(MemoryWindow.Type.TYPE_1);
            SharedReceiveQueue shared = posts.loopback.domain.createSharedReceiveQueue(SharedReceiveQueue.basic());
            for (int i = 0; i < 3; i++) {
                OtherThread.run(() -> posts.binder.postBind(1, window, posts.region, Set.of(AccessFlag.REMOTE_READ)));
                OtherThread.run(() -> shared.postReceive(1, posts.loopback.left.buffer));
            }
            OtherThread.run(() -> posts.binder.postUnbind(2, window));
        }
    }

    /** A request leaves nothing in its place of the batch that another kind would pass to the driver. */
    @ParameterizedTest
    @MethodSource("ways")
    void requestHasItsFieldsAfterEachOtherKind(PostWay way) throws InterruptedException {
        for (String transport : List.of("RC", "UD", "XRC")) {
            try (Posts posts = new Posts(way)) {
                List<Kind> kinds = kinds(way).stream()
                        .filter(kind -> kind.transport().equals(transport))
                        .toList();
                SendBatch batch = posts.pair(kinds.getFirst()).sendBatch(2);
                for (Kind first : kinds) {
                    for (Kind second : kinds) {
                        post(posts, batch, first, second);
                        post(posts, batch, second);
                        postAlone(posts, first, 3);
                        postAlone(posts, second, 4);
                    }
                }
            }
        }
    }

    private static void post(Posts posts, SendBatch batch, Kind... kinds) throws InterruptedException {
        batch.clear();
        int[] numbers = new int[kinds.length];
        for (int i = 0; i < kinds.length; i++) {
            numbers[i] = 5 + i;
            kinds[i].batched.accept(new One(posts, numbers[i]), batch);
        }
        posts.fill();
        receives(posts.loopback, (int) Stream.of(kinds).filter(Kind::isReceived).count());
        batch.post();
        posts.check(List.of(kinds), batch, numbers);
    }

    @ParameterizedTest
    @MethodSource("ways")
    void receivesHaveTheirFields(PostWay way) {
        try (Loopback loopback = way.connected()) {
            QueuePair pair = loopback.right.pair;
            MemoryRegion there = loopback.right.buffer;
            ReceiveBatch batch = pair.receiveBatch(3);
            for (int round = 0; round < 3; round++) {
                pair.postReceive(FIRST_ID + round, there.slice(64L * round, 10 + round));
                checkReceives(loopback, FIRST_ID + round + " right+" + 64 * round + ":" + (10 + round));
                batch.clear()
                        .receive(1, there.slice(640, 20 + round))
                        .receive(FIRST_ID, there.slice(704, 30))
                        .and(there.slice(768, 40))
                        .receive(3);
                assertThat(batch.post()).isEqualTo(3);
                checkReceives(loopback, "1 right+640:2" + round, FIRST_ID + " right+704:30 right+768:40", "3");
                batch.at(0).range(there.slice(2000, 100), 11, 22);
                batch.post();
                checkReceives(loopback, "1 right+2011:22", FIRST_ID + " right+704:30 right+768:40", "3");
                batch.clear().receive(4, there.slice(0, 1)).post();
                checkReceives(loopback, "4 right+0:1");
            }
        }
    }

    private static void checkReceives(Loopback loopback, String... expected) {
        assertThat(PostedRequest.latest(expected.length))
                .allSatisfy(request -> assertThat(request.queue()).isEqualTo(loopback.right.pair.number()));
        assertThat(PostedRequest.latest(expected.length).stream().map(request -> request.receiveText(loopback)))
                .containsExactly(expected);
    }

    /** A batch that is posted again differs where the program has changed it. */
    @ParameterizedTest
    @MethodSource("ways")
    void batchIsChangedInPlace(PostWay way) throws InterruptedException {
        try (Loopback loopback = way.connected()) {
            SendBatch batch = loopback.left.pair.sendBatch(3);
            for (int i = 0; i < 3; i++) {
                batch.write(i, local(loopback, i), remote(loopback, i))
                        .at(0); // the next one is added last nevertheless
            }
            batch.post();
            done(loopback, 0, 1, 2);
            MemoryRegion here = loopback.left.buffer;
            batch.at(1).id(22).fence();
            batch.id(0, 11).at(0).range(here.slice(1000, 100), 7, 33);
            batch.at(2).range(here, 500, 44);
            assertThat(batch.size()).isEqualTo(3);
            assertThat(batch.capacity()).isEqualTo(3);
            assertThat(batch.post()).isEqualTo(3);
            assertThat(PostedRequest.latest(3).stream().map(request -> request.text(loopback)))
                    .containsExactly(
                            "11 RDMA_WRITE signaled left+1007:33 to right+4096",
                            "22 RDMA_WRITE signaled fence left+64:10 to right+4224",
                            "2 RDMA_WRITE signaled left+500:44 to right+4352");
            done(loopback, 11, 22, 2);
        }
    }

    @ParameterizedTest
    @MethodSource("ways")
    void bindingChangesTheKeyOfItsWindow(PostWay way) {
        try (Posts posts = new Posts(way)) {
            MemoryWindow window = posts.windows.getFirst();
            int before = window.key();
            SendBatch batch = posts.loopback.left.pair.sendBatch(1);
            batch.bind(2, window, posts.region.slice(128, 256), Set.of(AccessFlag.REMOTE_READ))
                    .post();
            int key = window.key();
            assertThat(key).isNotEqualTo(before);
            assertThat(key >>> 8).isEqualTo(before >>> 8);
            assertThat(window.remote()).isEqualTo(new RemoteMemory(posts.region.address() + 128, key, 256));
        }
    }
}
