package dev.verbena.verbs;

import static dev.verbena.verbs.AccessFlag.LOCAL_WRITE;
import static dev.verbena.verbs.WorkStatus.LOCAL_ACCESS_ERROR;
import static dev.verbena.verbs.WorkStatus.LOCAL_PROTECTION_ERROR;
import static dev.verbena.verbs.WorkStatus.LOCAL_QP_OPERATION_ERROR;
import static dev.verbena.verbs.WorkStatus.REMOTE_ACCESS_ERROR;
import static dev.verbena.verbs.WorkStatus.REMOTE_INVALID_REQUEST_ERROR;
import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.VerbsArena;
import dev.verbena.support.DeviceTest;
import dev.verbena.support.Loopback;
import dev.verbena.support.Mlx5Too;
import dev.verbena.support.Twin;
import dev.verbena.verbs.QueuePairOptions.OfferedOperation;
import dev.verbena.verbs.device.QueuePairType;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.function.Function;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Requests of several kinds in one batch, and atomics that are not allowed; {@link TrafficTest} has each operation. */
@DeviceTest
@Mlx5Too
class ReliableConnectionTest {
    private static Loopback connected(boolean extended, QueuePairAttributes how) {
        return Loopback.connected(
                VerbsArena.ofConfined(),
                how,
                options -> (extended ? options.operations(OfferedOperation.usual(QueuePairType.RC)) : options)
                        .sendSge(3)
                        .receiveSge(3));
    }

    private static String read(MemoryRegion region, int offset, int length) {
        return new String(region.segment().asSlice(offset, length).toArray(JAVA_BYTE), StandardCharsets.UTF_8);
    }

    /** Some releases of soft-RoCE mistake pieces of several lengths in the functions of an extended queue pair. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void batchIsPostedWithOneCallAndCompletesInOrder(boolean extended) throws Exception {
        try (Loopback loopback = connected(extended, QueuePairAttributes.none())) {
            MemoryRegion here = loopback.left.buffer;
            MemoryRegion there = loopback.right.buffer;
            here.segment().copyFrom(MemorySegment.ofArray("aBBcccDDDDe".getBytes(StandardCharsets.UTF_8)));
            ReceiveBatch receives = loopback.right.pair.receiveBatch(2);
            receives.receive(10, there.slice(0, 8)).and(there.slice(64, 8)).receive(11);
            SendBatch sends = loopback.left.pair.sendBatch(5);
            sends.write(1, here.slice(0, 2), there.slice(2000, 4).remote())
                    .and(here.slice(2, 2))
                    .unsignaled();
            sends.send(2, here.slice(0, 1))
                    .and(here.slice(3, 3))
                    .and(here.slice(6, 5))
                    .solicited();
            sends.send(3).immediate(33).fence();
            sends.write(4, here.slice(0, 4), there.slice(4000, 6).remote()).and(here.slice(4, 2));
            sends.read(5, here.slice(64, 8), there.slice(0, 8).remote());
            for (int round = 0; round < 2; round++) {
                there.segment().fill((byte) 0);
                assertThat(receives.post()).isEqualTo(2);
                assertThat(sends.post()).isEqualTo(5);
                for (int i = 2; i <= 5; i++) { // the unsignaled one makes no completion
                    assertThat(loopback.left.done().id()).isEqualTo(i);
                }
                WorkCompletion first = loopback.right.done();
                assertThat(first.id()).isEqualTo(10);
                assertThat(first.byteLength()).isEqualTo(9);
                WorkCompletion last = loopback.right.done();
                assertThat(last.id()).isEqualTo(11);
                assertThat(last.immediate()).isEqualTo(33);
                assertThat(read(there, 0, 8) + read(there, 64, 1)).isEqualTo("acccDDDDe");
                assertThat(read(there, 2000, 4)).isEqualTo("aBBc");
                assertThat(read(there, 4000, 6)).isEqualTo("aBBccc");
                assertThat(read(here, 64, 8)).isEqualTo("acccDDDD");
            }
        }
    }

    /** An atomic that fails: the number here stays as it was, and so does the peer's if the peer refuses it. */
    private record Forbidden(
            String name,
            QueuePairAttributes how,
            Function<Loopback, MemoryRegion> here,
            Function<Loopback, RemoteMemory> there,
            WorkStatus... accepted) {
        @Override
        public String toString() {
            return name;
        }
    }

    private static MemoryRegion fresh(Loopback loopback, AccessFlag... access) {
        return loopback.domain.register(loopback.arena.allocate(64, 64), access);
    }

    private static RemoteMemory wrongKey(Loopback loopback) {
        MemoryRegion there = loopback.right.buffer;
        return new RemoteMemory(there.address(), there.remoteKey() + 1, 8);
    }

    static Stream<Arguments> forbidden() {
        QueuePairAttributes none = QueuePairAttributes.none();
        Function<Loopback, MemoryRegion> here = loopback -> loopback.left.buffer;
        Function<Loopback, RemoteMemory> there = loopback -> loopback.right.buffer.remote();
        return Stream.of(
                        new Forbidden(
                                "queue pair that may not be asked for atomics",
                                none.access(List.of(LOCAL_WRITE)),
                                here,
                                there,
                                REMOTE_INVALID_REQUEST_ERROR,
                                REMOTE_ACCESS_ERROR),
                        new Forbidden(
                                "memory of the peer that it may only write",
                                none,
                                here,
                                loopback -> fresh(loopback, LOCAL_WRITE).remote(),
                                REMOTE_ACCESS_ERROR),
                        new Forbidden("wrong key", none, here, ReliableConnectionTest::wrongKey, REMOTE_ACCESS_ERROR),
                        // A wrong key of this side can't be named; memory that the adapter may not write is what is
                        // left.
                        new Forbidden(
                                "memory here that may only be read",
                                none,
                                ReliableConnectionTest::fresh,
                                there,
                                LOCAL_PROTECTION_ERROR,
                                LOCAL_ACCESS_ERROR,
                                LOCAL_QP_OPERATION_ERROR))
                .flatMap(row -> Stream.of(Arguments.of(row, false), Arguments.of(row, true)));
    }

    @ParameterizedTest(name = "{0}, extended queue pair: {1}")
    @MethodSource("forbidden")
    @Twin({
        "test_atomic.AtomicTest.test_atomic_invalid_qp_access",
        "test_atomic.AtomicTest.test_atomic_invalid_mr_access",
        "test_atomic.AtomicTest.test_atomic_invalid_rkey",
        "test_atomic.AtomicTest.test_atomic_invalid_lkey"
    })
    void atomicFailsIfItIsForbidden(Forbidden row, boolean extended) throws Exception {
        try (Loopback loopback = connected(extended, row.how)) {
            MemoryRegion here = row.here.apply(loopback);
            RemoteMemory there = row.there.apply(loopback);
            here.segment().set(JAVA_LONG, 0, 7);
            loopback.left.pair.postFetchAndAdd(1, here, there, 1);
            WorkCompletion failed = loopback.left.next();
            assertThat(failed.operation()).isEqualTo(Operation.FETCH_AND_ADD);
            assertThat(failed.status()).isIn((Object[]) row.accepted);
            assertThat(here.segment().get(JAVA_LONG, 0)).isEqualTo(7);
            if (failed.status().name().startsWith("REMOTE")) {
                MemorySegment number = MemorySegment.ofAddress(there.address()).reinterpret(8);
                assertThat(number.get(JAVA_LONG, 0)).isZero();
            }
        }
    }
}
