package dev.verbena.examples;

import static dev.verbena.examples.RawHost.command;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.verbena.VerbsException;
import dev.verbena.cm.ConnectionException;
import dev.verbena.examples.RawHost.Response;
import dev.verbena.support.Slow;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** The example {@code MemoryDisk} under hosts that do what they may not. After each test, another host still reads and writes. */
@Slow
class MemoryDiskTest {
    private static final int NEW = 0xffff;
    private static final int DO_NOT_RETRY = 0x4000;
    private static final int READ = 2;
    private static final int WRITE = 1;
    private static final long BLOCKS = 64 << 8; // of 4 KiB

    private static Target target;
    private RawHost administrator;
    private RawHost good;
    private int controller;

    @BeforeAll
    static void start() throws Exception {
        target = new Target(4422, "64m");
    }

    @AfterAll
    static void end() throws Exception {
        target.close();
    }

    @BeforeEach
    void connectTheOtherHost() throws Exception {
        administrator = new RawHost(target.address, 0, 0, 32);
        controller = administrator.enable(Target.NAME);
        good = queue(1);
    }

    @AfterEach
    void otherHostGoesOn() throws Exception {
        good.data().set(ValueLayout.JAVA_LONG, 0, 0x1234_5678);
        assertThat(good.execute(good.keyed(transfer(WRITE, 7, 1), RawHost.PAGE)))
                .isEqualTo(new Response(0, 0));
        good.data().fill((byte) 0);
        assertThat(good.execute(good.keyed(transfer(READ, 7, 1), RawHost.PAGE))).isEqualTo(new Response(0, 0));
        assertThat(good.data().get(ValueLayout.JAVA_LONG, 0)).isEqualTo(0x1234_5678);
        good.close();
        administrator.close();
    }

    /** Connects a queue of the controller of the test. */
    private RawHost queue(int number) throws Exception {
        RawHost made = new RawHost(target.address, 0, number, 16);
        assertThat(made.connect(number, 16, controller, Target.NAME)).isEqualTo(new Response(0, controller));
        return made;
    }

    /** Returns a command that moves some blocks. */
    private static ByteBuffer transfer(int opcode, long block, int count) {
        return command(opcode, 1).putLong(40, block).putShort(48, (short) (count - 1));
    }

    private static Response refused(int status, int field) {
        return new Response(status | DO_NOT_RETRY, field);
    }

    private static int reasonOf(int format, int queue, int depth) {
        ConnectionException rejected = catchThrowableOfType(
                ConnectionException.class, () -> new RawHost(target.address, format, queue, depth).close());
        return rejected.privateData().toBytes()[2];
    }

    @Test
    void connectionIsRejectedWithTheReason() {
        assertThat(reasonOf(1, 0, 32)).isEqualTo(2);
        assertThat(reasonOf(0, 17, 32)).isEqualTo(3);
        assertThat(reasonOf(0, 0, 33)).isEqualTo(4);
        assertThat(reasonOf(0, 1, 129)).isEqualTo(4);
    }

    @Test
    void connectNamesTheFieldThatIsWrong() throws Exception {
        try (RawHost bad = new RawHost(target.address, 0, 0, 16)) {
            assertThat(bad.connect(0, 16, NEW, "nqn.2026-11.dev.verbena:other")).isEqualTo(refused(0x182, 0x10100));
            assertThat(bad.connect(0, 17, NEW, Target.NAME)).isEqualTo(refused(0x182, 44));
            assertThat(bad.connect(1, 16, controller, Target.NAME)).isEqualTo(refused(0x182, 42));
            assertThat(bad.connect(0, 16, controller, Target.NAME)).isEqualTo(refused(0x182, 0x10010));
        }
    }

    @Test
    void commandsBeforeConnectAreRefused() throws Exception {
        try (RawHost bad = new RawHost(target.address, 0, 1, 16)) {
            assertThat(bad.execute(bad.keyed(transfer(READ, 0, 1), RawHost.PAGE)))
                    .isEqualTo(refused(0x0c, 0));
        }
    }

    @Test
    void queueNumberIsGivenOnce() throws Exception {
        try (RawHost bad = new RawHost(target.address, 0, 1, 16)) {
            assertThat(bad.connect(1, 16, controller, Target.NAME)).isEqualTo(refused(0x0c, 0));
        }
    }

    @Test
    void blocksBeyondTheEndAreRefused() throws Exception {
        try (RawHost bad = queue(2)) {
            assertThat(bad.execute(bad.keyed(transfer(READ, BLOCKS - 1, 2), 2 * RawHost.PAGE)))
                    .isEqualTo(refused(0x80, 0));
            assertThat(bad.execute(bad.keyed(transfer(WRITE, -1, 1), RawHost.PAGE)))
                    .isEqualTo(refused(0x80, 0));
            assertThat(bad.execute(bad.keyed(transfer(WRITE, 1L << 52, 1), RawHost.PAGE)))
                    .isEqualTo(refused(0x80, 0));
            assertThat(bad.execute(bad.keyed(transfer(READ, 0, 1).putInt(4, 2), RawHost.PAGE)))
                    .isEqualTo(refused(0x0b, 0));
        }
    }

    @Test
    void descriptorsMustFitTheCommand() throws Exception {
        try (RawHost bad = queue(2)) {
            assertThat(bad.execute(bad.keyed(transfer(READ, 0, 2), RawHost.PAGE)))
                    .isEqualTo(refused(0x0f, 0));
            ByteBuffer unknown = bad.keyed(transfer(READ, 0, 1), RawHost.PAGE).put(39, (byte) 0x20);
            assertThat(bad.execute(unknown)).isEqualTo(refused(0x11, 0));
            ByteBuffer beyond = transfer(WRITE, 0, 1)
                    .putLong(24, 0)
                    .putInt(32, RawHost.PAGE)
                    .put(39, (byte) 0x01);
            assertThat(bad.execute(beyond)).isEqualTo(refused(0x16, 0)); // the capsule has no data
            assertThat(bad.execute(command(0x55, 1))).isEqualTo(refused(0x01, 0));
        }
    }

    @Test
    void dataInTheCapsuleIsWritten() throws Exception {
        try (RawHost host = queue(2)) {
            ByteBuffer capsule = RawHost.little(64 + RawHost.PAGE);
            capsule.put(0, transfer(WRITE, 9, 1).array(), 0, 64);
            capsule.putLong(24, 0).putInt(32, RawHost.PAGE).put(39, (byte) 0x01);
            capsule.putLong(64 + 4088, 0x7654_3210);
            assertThat(host.execute(capsule)).isEqualTo(new Response(0, 0));
            assertThat(host.execute(host.keyed(transfer(READ, 9, 1), RawHost.PAGE)))
                    .isEqualTo(new Response(0, 0));
            assertThat(host.data().get(ValueLayout.JAVA_LONG, 4088)).isEqualTo(0x7654_3210);
        }
    }

    @Test
    void writeZeroesClearsBlocks() throws Exception {
        good.data().fill((byte) 1);
        assertThat(good.execute(good.keyed(transfer(WRITE, 20, 2), 2 * RawHost.PAGE)))
                .isEqualTo(new Response(0, 0));
        assertThat(good.execute(transfer(8, 20, 1))).isEqualTo(new Response(0, 0));
        assertThat(good.execute(good.keyed(transfer(READ, 20, 2), 2 * RawHost.PAGE)))
                .isEqualTo(new Response(0, 0));
        assertThat(good.data().get(ValueLayout.JAVA_LONG, 4088)).isZero();
        assertThat(good.data().get(ValueLayout.JAVA_LONG, 4096)).isEqualTo(0x0101_0101_0101_0101L);
    }

    @Test
    void halfACapsuleEndsItsConnection() throws Exception {
        try (RawHost bad = queue(2)) {
            bad.send(RawHost.little(32));
            assertThatThrownBy(() -> {
                        bad.next();
                        bad.next();
                    })
                    .isInstanceOf(VerbsException.class);
        }
    }

    @Test
    void keysThatDoNotWorkEndTheirConnection() throws Exception {
        for (int opcode : new int[] {READ, WRITE}) {
            try (RawHost bad = queue(2)) {
                ByteBuffer wrong = bad.keyed(transfer(opcode, 0, 1), RawHost.PAGE);
                wrong.putInt(35, bad.region.remoteKey() ^ 0xff).put(39, (byte) 0x40);
                assertThatThrownBy(() -> bad.execute(wrong)).isInstanceOf(VerbsException.class);
            }
        }
    }

    @Test
    void discoveryListsTheDisk() throws Exception {
        try (RawHost host = new RawHost(target.address, 0, 0, 32)) {
            host.enable("nqn.2014-08.org.nvmexpress.discovery");
            ByteBuffer read =
                    host.keyed(command(2, 0), 2048).put(40, (byte) 0x70).putShort(42, (short) 511);
            assertThat(host.execute(read)).isEqualTo(new Response(0, 0));
            MemorySegment log = host.data();
            assertThat(log.get(ValueLayout.JAVA_LONG, 8)).isEqualTo(1);
            assertThat(log.getString(1024 + 256)).isEqualTo(Target.NAME);
            assertThat(log.getString(1024 + 32).strip()).isEqualTo("4422");
        }
    }
}
