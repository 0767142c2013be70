package strangers;

import dev.verbena.VerbsArena;
import dev.verbena.cm.EventChannel;
import dev.verbena.support.Await;
import dev.verbena.verbs.AccessFlag;
import dev.verbena.verbs.CompletionCounter;
import dev.verbena.verbs.CompletionField;
import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.CompletionQueueOptions;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.Device;
import dev.verbena.verbs.DmaHints;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.MemoryWindow;
import dev.verbena.verbs.ParentDomainOptions;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.QueuePairOptions;
import dev.verbena.verbs.RegionOptions;
import dev.verbena.verbs.SharedReceiveQueue;
import dev.verbena.verbs.SharedReceiveQueueOptions;
import dev.verbena.verbs.WorkQueue;
import dev.verbena.verbs.WorkQueueOptions;
import dev.verbena.verbs.XrcDomain;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;

/**
 * A program whose first call of each maker comes near the end of a stack, from each third frame upwards, and which makes the
 * object later, where there is room. The program has no lambda of its own on the way: the JDK may be unable to link it.
 */
final class FirstMakers {
    private static final long STACK = 512 << 10;
    private static final int FRAMES = 3_000;
    private static final int STEP = 3;
    private static final int KINDS = 26;

    private final VerbsArena arena = VerbsArena.ofShared();
    private final MemorySegment memory = arena.allocate(4096, 4096);
    private final List<AccessFlag> access = List.of(AccessFlag.LOCAL_WRITE);

    private Device device;
    private Context context;
    private ProtectionDomain domain;
    private CompletionQueue queue;
    private QueuePair pair;
    private MemoryRegion region;
    private XrcDomain xrc;
    private WorkQueue workQueue;

    // Options are made where there is room: the program itself makes them.
    private CompletionQueueOptions extended;
    private QueuePairOptions connected;
    private QueuePairOptions datagrams;
    private SharedReceiveQueueOptions basic;
    private WorkQueueOptions work;
    private final ParentDomainOptions parent = ParentDomainOptions.defaults();
    private final DmaHints hints = DmaHints.none();
    private final RegionOptions whole = RegionOptions.of(memory).access(access);

    private FirstMakers() {}

    private void prepare(int kind) {
        switch (kind) {
            case 3 -> extended = CompletionQueueOptions.of(4).fields(CompletionField.standard());
            case 6 -> {
                connected = QueuePair.rc(queue);
                datagrams = QueuePair.ud(queue);
                basic = SharedReceiveQueue.basic();
                work = WorkQueueOptions.of(queue, 4);
            }
            default -> {
                // the maker takes no options
            }
        }
    }

    private Object make(int kind) {
        return switch (kind) {
            case 0 -> device = Device.list().getFirst();
            case 1 -> context = device.open(arena);
            case 2 -> queue = context.createCompletionQueue(4, arena);
            case 3 -> context.createCompletionQueue(extended, arena);
            case 4 -> context.createCompletionChannel(arena);
            case 5 -> domain = context.allocateProtectionDomain(arena);
            case 6 -> pair = domain.createQueuePair(connected, arena);
            case 7 -> domain.createQueuePair(datagrams, arena);
            case 8 -> region = domain.register(memory, access, arena);
            case 9 -> domain.register(whole, arena);
            case 10 -> domain.allocateNullRegion(arena);
            case 11 -> domain.importRegion(region.handle(), 0, arena);
            case 12 -> domain.registerAddressSpace(access, arena);
            case 13 -> domain.allocateMemoryWindow(MemoryWindow.Type.TYPE_2, arena);
            case 14 -> context.allocateDeviceMemory(64, 8, arena);
            case 15 -> context.allocateThreadDomain(arena);
            case 16 -> xrc = context.openXrcDomain(arena);
            case 17 -> workQueue = domain.createWorkQueue(work, arena);
            case 18 -> context.createIndirectionTable(List.of(workQueue), arena);
            case 19 -> context.createCounters(arena);
            case 20 -> context.createCompletionCounter(CompletionCounter.Unit.WORK_REQUESTS, arena);
            case 21 -> context.allocateDmaHandle(hints, arena);
            case 22 -> domain.allocateBuffer(64, arena);
            case 23 -> domain.createSharedReceiveQueue(basic, arena);
            case 24 -> domain.allocateParentDomain(parent, arena);
            case 25 -> EventChannel.create(arena);
            default -> throw new IllegalArgumentException("kind " + kind);
        };
    }

    /** A thread that meets the end of its stack, and calls a maker on the way back, until it succeeds. */
    private final class Descent extends Thread {
        private final int kind;
        private boolean made;

        Descent(int kind) {
            super(null, null, "descent", STACK);
            this.kind = kind;
        }

        @Override
        public void run() {
            descend();
        }

        private int descend() {
            int below;
            try {
                below = descend() + 1;
            } catch (StackOverflowError end) {
                return 0;
            }
            if (!made && below < FRAMES && below % STEP == 0) {
                try {
                    make(kind);
                    made = true;
                } catch (Throwable full) {
                    // the next frame has more room; what stays broken is seen later
                }
            }
            return below;
        }
    }

    private List<String> run() throws InterruptedException {
        List<String> broken = new ArrayList<>();
        for (int kind = 0; kind < KINDS && broken.isEmpty(); kind++) { // later makers need what was made before
            prepare(kind);
            Descent descent = new Descent(kind);
            descent.start();
            Await.end(descent);
            try {
                make(kind);
            } catch (Throwable stays) {
                broken.add(kind + ": " + stays + ", because of " + stays.getCause());
            }
        }
        return broken;
    }

    /** Takes nothing. */
    public static void main(String[] arguments) throws InterruptedException {
        List<String> broken = new FirstMakers().run();
        System.out.println(broken.isEmpty() ? "all made" : String.join("\n", broken));
    }
}
