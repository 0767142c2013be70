package dev.verbena.verbs;

import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.ResourceBusyException;
import dev.verbena.VerbsArena;
import dev.verbena.VerbsObject;
import dev.verbena.cm.ConnectionId;
import dev.verbena.cm.EventChannel;
import dev.verbena.cm.PortSpace;
import dev.verbena.internal.lifetime.ArenaLifetime;
import dev.verbena.support.Await;
import dev.verbena.support.ChildJvm;
import dev.verbena.support.Fenced;
import dev.verbena.support.FencedTest;
import dev.verbena.support.Makers;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.management.BufferPoolMXBean;
import java.lang.management.ManagementFactory;
import java.lang.ref.Reference;
import java.net.InetSocketAddress;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Function;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import jdk.jfr.Recording;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Tests that makers that fail leave nothing in C, even after C has made the object, and that all arenas can be closed. */
@FencedTest
class MakersTest {
    private static final int DIRECT_MEMORY = 4 << 20;

    static List<Makers.Maker> makers() {
        return Makers.all();
    }

    @Test
    void makersWithoutDirectMemoryLeaveNothingInC() {
        String output = ChildJvm.onTheProvider("-XX:MaxDirectMemorySize=" + DIRECT_MEMORY)
                .runOnClassPath(WithoutMemory.class)
                .successfulOutput();
        assertThat(output)
                .contains("left 0 objects and 0 violations")
                .containsPattern("\ncompletion queue failed [1-9]")
                .containsPattern("\nqueue pair failed [1-9]")
                .containsPattern("(?m)^context failed [1-9]")
                .containsPattern("\nevent channel failed [1-9]")
                .containsPattern("\ncontext of an id failed [1-9]")
                .containsPattern("\nqueue pair of an id failed [1-9]");
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("makers")
    void makersUnderAClosingParentLeaveNothingInC(Makers.Maker maker) throws InterruptedException {
        int before = Fenced.liveObjects();
        try (Recording recording = new Recording()) {
            recording.enable("dev.verbena.Registration");
            recording.start();
            VerbsArena arena = VerbsArena.ofShared();
            try (Makers parents = new Makers()) {
                maker.make(parents, arena).close(); // the parents are there from now on
                closeWhileMaking(maker, parents, arena);
                if (!ArenaLifetime.of(arena).isClosed()) {
                    arena.close();
                }
            }
        }
        assertThat(Fenced.liveObjects()).isEqualTo(before);
    }

    private static void closeWhileMaking(Makers.Maker maker, Makers parents, VerbsArena arena)
            throws InterruptedException {
        Function<Makers, VerbsObject> parentOf = maker.parent();
        VerbsObject parent = parentOf == null ? null : parentOf.apply(parents);
        AtomicReference<Throwable> wrong = new AtomicReference<>();
        Fenced.stop(maker.function());
        Thread making = start(wrong, () -> maker.make(parents, arena));
        Fenced.awaitStopped(maker.function(), 1);
        Thread closing = start(wrong, parent == null ? arena::close : parent::close);
        Await.until(
                "closing of the parent",
                () -> parent == null ? ArenaLifetime.of(arena).isClosed() : !parent.isOpen());
        Fenced.goOn(maker.function());
        Await.end(making);
        Await.end(closing);
        assertThat(wrong.get()).isNull();
    }

    /** Runs work that another thread may disturb by closing what it uses. */
    private static Thread start(AtomicReference<Throwable> wrong, Runnable work) {
        return Thread.ofPlatform().daemon().start(() -> {
            try {
                work.run();
            } catch (ResourceBusyException | IllegalStateException expected) {
                assertThat(expected).hasMessageMatching("(?s).+");
            } catch (Throwable t) {
                wrong.set(t);
            }
        });
    }

    /**
     * A program for {@link ChildJvm} on the provider for tests: makes objects while direct memory is missing, then with room
     * for one allocation more each time, until the maker succeeds. Prints how often each maker has failed, and what is left.
     */
    static final class WithoutMemory {
        private static final Pattern REFUSED = Pattern.compile(
                "Cannot reserve (\\d+) bytes of direct buffer memory \\(allocated: (\\d+), limit: (\\d+)\\)");

        public static void main(String[] arguments) throws InterruptedException {
            for (Makers.Maker maker : Makers.all()) {
                System.out.println(maker.name() + " failed " + failures(maker));
            }
            for (var maker : makersOfTheConnectionManager().entrySet()) {
                System.out.println(maker.getKey() + " failed " + failures(room -> failBeforeC(maker.getValue(), room)));
            }
            System.out.println("left " + Fenced.remains() + " " + Fenced.firstViolation());
        }

        /** Makes an object with little room. Returns the number of bytes that were missing, 0 on success. */
        private interface Attempt {
            long with(long room) throws InterruptedException;
        }

        private static int failures(Attempt attempt) throws InterruptedException {
            long room = 0;
            for (int failed = 0; ; failed++) {
                long missing = attempt.with(room);
                if (missing == 0) {
                    return failed;
                }
                room += missing;
            }
        }

        private static int failures(Makers.Maker maker) throws InterruptedException {
            try (Makers parents = new Makers();
                    VerbsArena arena = VerbsArena.ofShared()) {
                maker.make(parents, arena).close(); // loads what a first call loads
            }
            return failures(room -> failAfterC(maker, room));
        }

        /** Uses up the memory while C makes the object, so that the maker fails afterwards. */
        private static long failAfterC(Makers.Maker maker, long room) throws InterruptedException {
            AtomicReference<Throwable> failure = new AtomicReference<>();
            try (Makers parents = new Makers();
                    VerbsArena arena = VerbsArena.ofShared()) {
                maker.make(parents, arena).close(); // the parents are there from now on
                int before = Fenced.liveObjects();
                Fenced.stop(maker.function());
                Thread making = Thread.ofPlatform().start(() -> {
                    try {
                        maker.make(parents, arena);
                    } catch (Throwable t) {
                        failure.set(t);
                    }
                });
                Fenced.awaitStopped(maker.function(), 1);
                MemorySegment rest = takeAllBut(room);
                Fenced.goOn(maker.function());
                making.join();
                Reference.reachabilityFence(rest);
                Throwable thrown = failure.get();
                if (thrown != null && Fenced.liveObjects() != before) {
                    throw new AssertionError(maker + " has left an object in C", thrown);
                }
                return thrown == null ? 0 : missing(thrown);
            }
        }

        /** After a failure the same maker must succeed with enough memory, and the arena must close. */
        private static long failBeforeC(Function<VerbsArena, Runnable> maker, long room) {
            try (VerbsArena arena = VerbsArena.ofShared()) {
                Runnable making = maker.apply(arena);
                long missing = run(making, room);
                if (missing > 0) {
                    making.run();
                }
                return missing;
            }
        }

        private static long run(Runnable making, long room) {
            MemorySegment rest = takeAllBut(room);
            try {
                making.run();
                return 0;
            } catch (OutOfMemoryError none) {
                return missing(none);
            } finally {
                Reference.reachabilityFence(rest);
            }
        }

        /** Returns functions that make the parents of an object in an arena, and return its maker. */
        private static Map<String, Function<VerbsArena, Runnable>> makersOfTheConnectionManager() {
            Map<String, Function<VerbsArena, Runnable>> makers = new LinkedHashMap<>();
            makers.put("event channel", arena -> () -> EventChannel.create(arena));
            makers.put("id", arena -> {
                EventChannel channel = EventChannel.create(arena);
                return () -> channel.createId(PortSpace.TCP);
            });
            makers.put("context of an id", arena -> bound(arena)::context);
            makers.put("queue pair of an id", arena -> {
                ConnectionId id = bound(arena);
                ProtectionDomain domain = id.context().allocateProtectionDomain();
                CompletionQueue queue = id.context().createCompletionQueue(4);
                return () -> id.createQueuePair(domain, QueuePair.rc(queue));
            });
            makers.put("shared receive queue of an id", arena -> {
                ConnectionId id = bound(arena);
                ProtectionDomain domain = id.context().allocateProtectionDomain();
                return () -> id.createSharedReceiveQueue(domain, SharedReceiveQueue.basic());
            });
            return makers;
        }

        private static ConnectionId bound(VerbsArena arena) {
            ConnectionId id = EventChannel.create(arena).createId(PortSpace.TCP);
            id.bind(new InetSocketAddress("10.9.9.1", 0));
            return id;
        }

        /** Takes all direct memory but some. The memory is taken as long as the result is reachable. */
        private static MemorySegment takeAllBut(long room) {
            freeGarbage();
            return Arena.ofAuto().allocate(DIRECT_MEMORY - used() - room, 1);
        }

        private static void freeGarbage() {
            for (int i = 0; i < 2; i++) {
                long size = 1 << 16;
                Arena.ofAuto().allocate(size);
                long before = used();
                Await.until("memory to be freed", () -> {
                    System.gc();
                    return used() <= before - size;
                });
            }
        }

        private static long used() {
            return ManagementFactory.getPlatformMXBeans(BufferPoolMXBean.class).stream()
                    .filter(pool -> pool.getName().equals("direct"))
                    .mapToLong(BufferPoolMXBean::getMemoryUsed)
                    .sum();
        }

        /** Returns the number of bytes that were missing when something failed for want of direct memory. */
        private static long missing(Throwable thrown) {
            Matcher refused = REFUSED.matcher(String.valueOf(thrown.getMessage()));
            if (!(thrown instanceof OutOfMemoryError) || !refused.matches()) {
                throw new AssertionError("not for want of direct memory", thrown);
            }
            long wanted = Long.parseLong(refused.group(1));
            return wanted - (Long.parseLong(refused.group(3)) - Long.parseLong(refused.group(2)));
        }
    }
}
