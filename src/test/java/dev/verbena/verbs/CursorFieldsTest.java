package dev.verbena.verbs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.verbena.UnsupportedVerbException;
import dev.verbena.VerbsArena;
import dev.verbena.support.ArenaKind;
import dev.verbena.support.Fenced;
import dev.verbena.support.FencedTest;
import dev.verbena.support.Loopback;
import dev.verbena.support.TestDevice;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Each field of a completion is read from its own place: the provider for tests gives all fields different values, so that
 * a neighbour's value is noticed.
 */
@FencedTest
class CursorFieldsTest {
    private static final long ID = 0x0102_0304_0506_0708L;
    private static final int LENGTH = 200;
    private static final int IMMEDIATE = 0x11223344;
    private static final int SOURCE_LID = 0x1234;
    private static final int SERVICE_LEVEL = 5;
    private static final int PKEY_INDEX = 3;
    private static final int PATH_BITS = 7;

    private final VerbsArena arena = VerbsArena.ofConfined();
    private final Context context = TestDevice.get().open(arena);
    private final ProtectionDomain domain = context.allocateProtectionDomain();
    private final CompletionQueue sends = context.createCompletionQueue(8);
    private final CompletionQueue plain = context.createCompletionQueue(8);
    private final CompletionQueue extended =
            context.createCompletionQueue(CompletionQueueOptions.of(8).fields(EnumSet.allOf(CompletionField.class)));
    private MemoryRegion buffer;
    private QueuePair sender;
    private QueuePair receiver;

    @BeforeEach
    void register() {
        buffer = domain.register(arena.allocate(4096, 64), AccessFlag.LOCAL_WRITE);
    }

    @AfterEach
    void close() {
        arena.close();
    }

    private void connect(CompletionQueue receives) {
        sender = domain.createQueuePair(QueuePair.rc(sends));
        receiver = domain.createQueuePair(QueuePair.rc(sends, receives));
        sender.connect(receiver.endpoint());
        receiver.connect(sender.endpoint());
    }

    private void receive(Completions done) {
        receiver.postReceive(ID, buffer);
        sender.postSendImmediate(1, buffer.slice(0, LENGTH), IMMEDIATE);
        assertThat(done.poll()).isEqualTo(1);
        assertThat(done.next()).isTrue();
    }

    /** All values of fields that are as wide as another one must differ, or the test is worth nothing. */
    private void assertDifferent(long... more) {
        List<Long> values = new ArrayList<>(List.of(
                ID,
                (long) LENGTH,
                (long) IMMEDIATE,
                (long) Integer.reverseBytes(IMMEDIATE),
                (long) SOURCE_LID,
                (long) SERVICE_LEVEL,
                (long) PKEY_INDEX,
                (long) PATH_BITS,
                (long) sender.number(),
                (long) receiver.number(),
                (long) WorkCompletion.Flag.WITH_IMMEDIATE.bit(),
                (long) WorkCompletion.Opcode.RECEIVE.code()));
        for (long value : more) {
            values.add(value);
        }
        assertThat(values).doesNotHaveDuplicates().doesNotContain(0L);
    }

    private void assertCommonFields(Completions done) {
        assertThat(done.id()).isEqualTo(ID);
        assertThat(done.statusCode()).isZero();
        assertThat(done.opcode()).isEqualTo(WorkCompletion.Opcode.RECEIVE);
        assertThat(done.vendorError()).isZero();
        assertThat(done.byteLength()).isEqualTo(LENGTH);
        assertThat(done.immediate()).isEqualTo(IMMEDIATE);
        assertThat(done.invalidatedKey()).isEqualTo(Integer.reverseBytes(IMMEDIATE)); // the same place in C
        assertThat(done.queuePairNumber()).isEqualTo(receiver.number());
        assertThat(done.sourceQueuePair()).isEqualTo(sender.number());
        assertThat(done.flagBits()).isEqualTo(WorkCompletion.Flag.WITH_IMMEDIATE.bit());
        assertThat(done.sourceLid()).isEqualTo(SOURCE_LID);
        assertThat(done.serviceLevel()).isEqualTo(SERVICE_LEVEL);
        assertThat(done.pathBits()).isEqualTo(PATH_BITS);
    }

    private void assertValue(WorkCompletion value, int pkeyIndex) {
        assertThat(value.id()).isEqualTo(ID);
        assertThat(value.statusCode()).isZero();
        assertThat(value.opcodeNumber()).isEqualTo(WorkCompletion.Opcode.RECEIVE.code());
        assertThat(value.vendorError()).isZero();
        assertThat(value.byteLength()).isEqualTo(LENGTH);
        assertThat(value.immediate()).isEqualTo(IMMEDIATE);
        assertThat(value.invalidatedKey()).isEqualTo(Integer.reverseBytes(IMMEDIATE));
        assertThat(value.queuePairNumber()).isEqualTo(receiver.number());
        assertThat(value.sourceQueuePair()).isEqualTo(sender.number());
        assertThat(value.flagBits()).isEqualTo(WorkCompletion.Flag.WITH_IMMEDIATE.bit());
        assertThat(value.pkeyIndex()).isEqualTo(pkeyIndex);
        assertThat(value.sourceLid()).isEqualTo(SOURCE_LID);
        assertThat(value.serviceLevel()).isEqualTo(SERVICE_LEVEL);
        assertThat(value.pathBits()).isEqualTo(PATH_BITS);
    }

    @Test
    void plainCursorReadsEachFieldFromItsPlace() {
        connect(plain);
        assertDifferent();
        Completions done = plain.completions(4);
        receive(done);
        assertCommonFields(done);
        assertThat(done.pkeyIndex()).isEqualTo(PKEY_INDEX);
        assertValue(done.completion(), PKEY_INDEX);
    }

    @Test
    void extendedCursorReadsEachFieldFromItsPlace() {
        connect(extended);
        long timestamp = 0x1122334455667788L;
        long wallClock = 0x0102030405060709L;
        int vlan = 0x9abc;
        int flowTag = 0xf10f10;
        long tag = 0x7a67a67a67a67a67L;
        int tagData = 0x50505051;
        assertDifferent(timestamp, wallClock, vlan, flowTag, tag, tagData);
        ExtendedCompletions done = extended.extendedCompletions(4);
        receive(done);
        assertCommonFields(done);
        assertThat(done.timestamp()).isEqualTo(timestamp);
        assertThat(done.wallClockNanos()).isEqualTo(wallClock);
        assertThat(done.vlan()).isEqualTo(vlan);
        assertThat(done.flowTag()).isEqualTo(flowTag);
        assertThat(done.tag()).isEqualTo(tag);
        assertThat(done.tagData()).isEqualTo(tagData);
        assertValue(done.completion(), 0); // extended queues do not report the index of the partition key
    }

    /** A queue that reports one field must not look for the flag of another one. */
    @ParameterizedTest
    @EnumSource
    void extendedCursorReadsAFieldThatIsReportedAlone(CompletionField field) {
        CompletionQueue queue =
                context.createCompletionQueue(CompletionQueueOptions.of(8).fields(EnumSet.of(field)));
        connect(queue);
        ExtendedCompletions done = queue.extendedCompletions(4);
        receive(done);
        long value = switch (field) {
            case BYTE_LENGTH -> done.byteLength();
            case IMMEDIATE -> done.immediate();
            case QUEUE_PAIR_NUMBER -> done.queuePairNumber();
            case SOURCE_QUEUE_PAIR -> done.sourceQueuePair();
            case SOURCE_LID -> done.sourceLid();
            case SERVICE_LEVEL -> done.serviceLevel();
            case PATH_BITS -> done.pathBits();
            case TIMESTAMP -> done.timestamp();
            case VLAN -> done.vlan();
            case FLOW_TAG -> done.flowTag();
            case TAG_MATCHING -> done.tag();
            case WALL_CLOCK -> done.wallClockNanos();
        };
        assertThat(value).isNotZero();
        assertThat(done.id()).isEqualTo(ID);
    }

    /** The cursor of an extended queue keeps some fields in arrays beside the completions. */
    @Test
    void extendedCursorKeepsFieldsOfEachCompletion() {
        connect(extended);
        ExtendedCompletions done = extended.extendedCompletions(4);
        for (int i = 0; i < 3; i++) {
            receiver.postReceive(i, buffer);
            sender.postSendImmediate(i, buffer.slice(0, 10 + i), 20 + i);
        }
        int seen = 0;
        while (seen < 3) {
            assertThat(done.poll()).isPositive();
            for (; done.next(); seen++) {
                assertThat(done.id()).isEqualTo(seen);
                assertThat(done.byteLength()).isEqualTo(10 + seen);
                assertThat(done.immediate()).isEqualTo(20 + seen);
                assertThat(done.sourceLid()).isEqualTo(SOURCE_LID);
            }
        }
    }

    @Test
    void failedCompletionTellsTheVendorError() {
        for (CompletionQueue queue : List.of(plain, extended)) {
            connect(queue);
            Completions done = queue == plain ? plain.completions(4) : extended.extendedCompletions(4);
            receiver.postReceive(ID, buffer.slice(0, 8)); // too short
            sender.postSend(1, buffer.slice(0, LENGTH));
            assertThat(done.poll()).isEqualTo(1);
            assertThat(done.next()).isTrue();
            assertThat(done.id()).isEqualTo(ID);
            assertThat(done.status()).isEqualTo(WorkStatus.LOCAL_LENGTH_ERROR);
            assertThat(done.vendorError()).isEqualTo(0x77);
            assertThat(done.queuePairNumber()).isEqualTo(receiver.number());
            assertThat(done.completion().vendorError()).isEqualTo(0x77);
        }
    }

    /** An adapter's queue of standard fields is polled by one call, and tells all that the slow way tells. */
    @ParameterizedTest
    @EnumSource
    void standardFieldsOfAnAdapterAreFetchedByOneCall(ArenaKind kind, @TempDir Path folder) throws IOException {
        Files.createDirectory(folder.resolve("device"));
        Files.createSymbolicLink(folder.resolve("device").resolve("driver"), Path.of("an_adapter"));
        Fenced.adapterPath(folder.toString());
        try (Loopback loopback = Loopback.connected(kind.make(), QueuePairAttributes.none())) {
            for (EnumSet<CompletionField> fields : List.of(
                    EnumSet.copyOf(CompletionField.standard()),
                    EnumSet.of(CompletionField.BYTE_LENGTH),
                    EnumSet.noneOf(CompletionField.class),
                    EnumSet.of(CompletionField.BYTE_LENGTH, CompletionField.TIMESTAMP))) {
                receiveByAdapter(loopback, fields);
            }
        } finally {
            Fenced.adapterPath("");
        }
    }

    private void receiveByAdapter(Loopback loopback, EnumSet<CompletionField> fields) {
        CompletionQueue queue = loopback.context.createCompletionQueue(
                CompletionQueueOptions.of(8).fields(fields));
        QueuePair pair = loopback.domain.createQueuePair(QueuePair.rc(queue));
        pair.connect(pair.endpoint());
        boolean standard = CompletionField.standard().containsAll(fields);
        ExtendedCompletions done = queue.extendedCompletions(4);
        long before = Fenced.calls("ibv_start_poll");
        pair.postReceive(ID, loopback.left.buffer);
        pair.postSendImmediate(1, loopback.left.buffer.slice(0, LENGTH), IMMEDIATE);
        assertThat(done.poll()).isEqualTo(2);
        assertThat(done.next()).isTrue();
        if (done.id() != ID) {
            assertThat(done.next()).isTrue();
        }
        assertThat(Fenced.calls("ibv_start_poll") - before).isEqualTo(standard ? 0 : 1);
        WorkCompletion value = done.completion();
        for (CompletionField field : CompletionField.standard()) {
            if (fields.contains(field)) {
                assertThat(read(done, field)).as("%s", field).isNotZero().isEqualTo(read(value, field));
            } else {
                assertThatThrownBy(() -> read(done, field)).isInstanceOf(UnsupportedVerbException.class);
                assertThat(read(value, field)).as("%s", field).isZero();
            }
        }
        assertThat(value.pkeyIndex()).isZero();
        assertThat(value.opcode()).isEqualTo(WorkCompletion.Opcode.RECEIVE);
        pair.postRead(7, loopback.left.buffer.slice(0, 8), new RemoteMemory(0, 0, 8));
        assertThat(done.poll()).isEqualTo(1);
        assertThat(done.next()).isTrue();
        assertThat(done.id()).isEqualTo(7);
        assertThat(done.status()).isEqualTo(WorkStatus.REMOTE_ACCESS_ERROR);
        assertThat(done.vendorError()).isEqualTo(0x77);
        assertThat(done.queuePair()).isSameAs(fields.contains(CompletionField.QUEUE_PAIR_NUMBER) ? pair : null);
        assertThat(done.poll()).isZero();
        pair.close();
    }

    private static int read(ExtendedCompletions from, CompletionField field) {
        return switch (field) {
            case BYTE_LENGTH -> from.byteLength();
            case IMMEDIATE -> from.immediate();
            case QUEUE_PAIR_NUMBER -> from.queuePairNumber();
            case SOURCE_QUEUE_PAIR -> from.sourceQueuePair();
            case SOURCE_LID -> from.sourceLid();
            case SERVICE_LEVEL -> from.serviceLevel();
            case PATH_BITS -> from.pathBits();
            default -> throw new AssertionError(field);
        };
    }

    private static int read(WorkCompletion from, CompletionField field) {
        return switch (field) {
            case BYTE_LENGTH -> from.byteLength();
            case IMMEDIATE -> from.immediate();
            case QUEUE_PAIR_NUMBER -> from.queuePairNumber();
            case SOURCE_QUEUE_PAIR -> from.sourceQueuePair();
            case SOURCE_LID -> from.sourceLid();
            case SERVICE_LEVEL -> from.serviceLevel();
            case PATH_BITS -> from.pathBits();
            default -> throw new AssertionError(field);
        };
    }
}
