package dev.verbena.net;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import dev.verbena.VerbsArena;
import dev.verbena.internal.link.Link;
import dev.verbena.internal.link.TcpLink;
import dev.verbena.internal.link.TcpMemory;
import dev.verbena.verbs.AccessFlag;
import dev.verbena.verbs.MemoryRegion;
import java.lang.foreign.MemorySegment;
import java.net.InetSocketAddress;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/** Keys of memory over TCP: what they open, and for whom. */
class TcpMemoryTest {
    private static final int BYTES = 64;

    private final VerbsArena arena = VerbsArena.ofShared();
    private final TcpMemory memory = TcpMemory.create(arena);
    private final MemoryRegion region = register(memory);

    private MemoryRegion register(TcpMemory with) {
        return with.register(arena.allocate(BYTES), List.of(AccessFlag.LOCAL_WRITE), arena);
    }

    @AfterEach
    void close() {
        arena.close();
    }

    @ParameterizedTest
    @CsvSource({
        "0, 64, true",
        "63, 1, true",
        "0, 0, true",
        "64, 0, true",
        "-1, 1, false",
        "0, 65, false",
        "63, 2, false",
        "64, 1, false",
        "65, 0, false",
        "0, -1, false",
        "9223372036854775807, 1, false"
    })
    void onlyRangesWithinTheMemoryAreFound(long offset, long length, boolean isFound) {
        MemorySegment found = memory.find(null, region.localKey(), region.address() + offset, length, null);
        assertThat(found != null).isEqualTo(isFound);
        if (found != null) {
            assertThat(found.address()).isEqualTo(region.segment().address() + offset);
            assertThat(found.byteSize()).isEqualTo(length);
        }
    }

    @Test
    void memoryOfAnotherNodeIsNotThisNodesOwn() {
        MemoryRegion other = register(TcpMemory.create(arena));
        memory.checkOwn(region.slice(0, 8), true);
        assertThatIllegalArgumentException()
                .isThrownBy(() -> memory.checkOwn(other.slice(0, 8), false))
                .withMessageContaining("is not registered with this node");
    }

    @Test
    void keyOfAChannelOpensMemoryToItAloneUntilItEnds() {
        NodeOptions options = NodeOptions.defaults().transport(Transport.TCP);
        InetSocketAddress own = new InetSocketAddress("127.0.0.1", 0);
        Engine engine = new Engine(own, options);
        Session session = new Session(engine, 0, own, true);
        TcpLink link = new TcpLink(memory, null, options.sizes(), session.rail);
        Session thief = new Session(engine, 1, own, true);
        TcpLink ofThief = new TcpLink(memory, null, options.sizes(), thief.rail);
        Set<AccessFlag> access = Set.of(AccessFlag.REMOTE_READ);
        Link.Key key = link.grant(0, region, access, arena);
        int number = key.shown().get().memory().key();
        assertThat(memory.find(link, number, region.address(), BYTES, AccessFlag.REMOTE_READ))
                .isNotNull();
        assertThat(memory.find(ofThief, number, region.address(), BYTES, AccessFlag.REMOTE_READ))
                .isNull();
        key.end().run();
        assertThat(memory.find(link, number, region.address(), BYTES, AccessFlag.REMOTE_READ))
                .isNull();
        session.arena.close();
        thief.arena.close();
        engine.close();
    }

    /** Keys that nobody else may use are counted: see {@link TcpMemory}. */
    @ParameterizedTest
    @EnumSource(
            value = AccessFlag.class,
            names = {"LOCAL_WRITE", "REMOTE_READ", "REMOTE_WRITE", "REMOTE_ATOMIC"})
    void peersCannotGuessKeysThatTheyMayUse(AccessFlag right) {
        List<AccessFlag> access = List.of(AccessFlag.LOCAL_WRITE, right);
        MemoryRegion first = memory.register(arena.allocate(BYTES), access, arena);
        MemoryRegion second = memory.register(arena.allocate(BYTES), access, arena);
        TcpMemory adopting = TcpMemory.create(arena);
        adopting.adopt(first);
        adopting.adopt(second);
        boolean areCounted = right == AccessFlag.LOCAL_WRITE;
        assertThat(second.localKey() - first.localKey() == 1).isEqualTo(areCounted);
        assertThat(adopting.keyOf(second) - adopting.keyOf(first) == 1).isEqualTo(areCounted);
    }

    @Test
    void textSaysWhatItIs() {
        assertThat(memory).hasToString("registered memory of a node over TCP");
    }
}
