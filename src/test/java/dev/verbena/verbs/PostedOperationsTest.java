package dev.verbena.verbs;

import static org.assertj.core.api.Assertions.assertThat;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The log of the work requests that were posted finds what a list that keeps all requests finds. */
class PostedOperationsTest {
    private static final int SEND = Operation.SEND.code();
    private static final int WRITE = Operation.RDMA_WRITE.code();
    private static final int RECEIVE = Operation.RECEIVE.code();
    private static final int[] KINDS = {SEND, WRITE, Operation.RDMA_READ.code(), RECEIVE};
    private static final int[] ALL_KINDS = {SEND, WRITE, KINDS[2], RECEIVE, PostedOperations.SEVERAL};

    private record Request(long id, int kind) {}

    /** The list that keeps all: what is beyond the room of the log is left out when the list is searched. */
    private static final class Model {
        private final int room;
        private final boolean each;
        private final List<Request> logged = new ArrayList<>();
        /** The kind of all requests before the first of another kind, if that was logged; or null. */
        private @Nullable Integer first;

        private boolean logs;
        /** The number of requests that have had a place in the log, with those that were taken back. */
        private int highest;

        private boolean open;
        private int usual;

        Model(int room, boolean each) {
            this.room = room;
            this.each = each;
        }

        int add(int kind, List<Request> requests) {
            if (!logs && first == null && kind != PostedOperations.SEVERAL && !each) {
                first = kind;
            }
            if (!logs && first != null && first == kind) {
                return 0;
            }
            logs = true;
            List<Request> fitting = requests.subList(0, Math.min(requests.size(), room / 2));
            logged.addAll(fitting);
            highest = Math.max(highest, logged.size());
            return fitting.size();
        }

        void takeBack(int count) {
            logged.subList(logged.size() - count, logged.size()).clear();
        }

        void clear() {
            logged.clear();
            first = null;
            logs = false;
            highest = 0;
        }

        private boolean isUsual(int kind) {
            return kind > PostedOperations.SEVERAL && (usual >>> kind & 1) != 0;
        }

        boolean letsThrough(int kind) {
            return open && covers(kind) && isUsual(kind);
        }

        boolean covers(int kind) {
            return !logs && first != null && first == kind;
        }

        boolean takes(long id, int kind) {
            if (open && logs && isUsual(kind)) {
                add(kind, List.of(new Request(id, kind)));
                return true;
            }
            return letsThrough(kind);
        }

        @Nullable
        Operation find(long id) {
            if (logs) {
                for (int i = logged.size() - 1; i >= Math.max(0, highest - room); i--) {
                    if (logged.get(i).id == id) {
                        return Operation.of(logged.get(i).kind);
                    }
                }
            }
            boolean isFull = logged.size() >= room; // then no request from before can be outstanding
            return first == null || logs && isFull ? null : Operation.of(first);
        }
    }

    /** Requests of 16 bytes: the id, then the operation. */
    private static int addBatch(PostedOperations log, int kind, List<Request> requests) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment memory = arena.allocate(16L * requests.size(), 8);
            for (int i = 0; i < requests.size(); i++) {
                memory.set(ValueLayout.JAVA_LONG, 16L * i, requests.get(i).id);
                memory.set(ValueLayout.JAVA_INT, 16L * i + 8, requests.get(i).kind);
            }
            return log.add(memory.address(), kind == RECEIVE ? 0 : 8, 16, requests.size(), kind);
        }
    }

    private static List<Request> requests(Random random, int kind, long firstId, int most) {
        List<Request> requests = new ArrayList<>();
        for (int i = random.nextInt(1, most); i > 0; i--) {
            boolean isSeveral = kind == PostedOperations.SEVERAL;
            requests.add(new Request(firstId + requests.size(), isSeveral ? KINDS[random.nextInt(3)] : kind));
        }
        return requests;
    }

    /** A depth that is no power of two has room for as many as the next power of two takes. */
    @ParameterizedTest
    @CsvSource({"4, 16, false", "4, 16, true", "5, 16, false", "5, 16, true", "1, 4, false", "8, 32, true"})
    void logFindsWhatAListOfAllRequestsFinds(int depth, int room, boolean idsTellSides) {
        for (int seed = 0; seed < 600; seed++) {
            Random random = new Random(seed);
            PostedOperations log = new PostedOperations(depth, idsTellSides);
            Model model = new Model(room, idsTellSides);
            int ids = 3 + random.nextInt(4 * room); // few ids are used again soon
            int kinds = 1 + random.nextInt(3); // requests of one kind are a case of their own
            for (int step = 0; step < 60; step++) {
                int kind = KINDS[random.nextInt(kinds)];
                long id = random.nextInt(ids);
                String what = "seed " + seed + ", step " + step;
                switch (random.nextInt(20)) {
                    case 0 -> {
                        log.clear();
                        model.clear();
                    }
                    case 1 -> {
                        model.open = random.nextBoolean();
                        model.usual = random.nextBoolean() ? -1 : 1 << SEND;
                        log.open(model.open, model.usual);
                    }
                    case 2, 3, 4, 5 -> assertThat(log.takes(id, kind)).as(what).isEqualTo(model.takes(id, kind));
                    case 6, 7, 8 -> {
                        List<Request> one = List.of(new Request(id, kind));
                        assertThat(log.add(id, kind)).as(what).isEqualTo(model.add(kind, one));
                    }
                    default -> {
                        int batch = random.nextInt(3) == 0 ? PostedOperations.SEVERAL : kind;
                        List<Request> requests = requests(random, batch, id, room);
                        int added = addBatch(log, batch, requests);
                        assertThat(added).as(what).isEqualTo(model.add(batch, requests));
                        if (random.nextInt(3) == 0) { // it was refused
                            log.takeBack(added);
                            model.takeBack(added);
                        }
                    }
                }
                for (long each = -1; each < ids + room; each++) { // with ids that no request has
                    assertThat(log.find(each)).as("%s, id %d", what, each).isEqualTo(model.find(each));
                }
                assertThat(log.takes(id, PostedOperations.SEVERAL)).as(what).isFalse();
                for (int each : ALL_KINDS) {
                    assertThat(log.covers(each)).as(what).isEqualTo(model.covers(each));
                    assertThat(log.letsThrough(each)).as(what).isEqualTo(model.letsThrough(each));
                }
                assertThat(log.isEmpty()).as(what).isEqualTo(!model.logs && model.first == null);
            }
        }
    }
}
