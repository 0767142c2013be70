package dev.verbena.bench;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.OpenOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/** Reads and writes two block devices by turns, past the page cache. Their blocks have at most 4 KiB. */
final class DiskTurns {
    private static final int TURNS = 9;

    /** The turns before the first that counts. With 5, the disk's code is not compiled yet, and takes 2.5 to 4 times as long. */
    private static final int COLD = 40;

    private static final int AREA = 64 << 20; // of a device

    private DiskTurns() {}

    /** A kind of transfer: some threads, each with one at a time. */
    private record Row(String name, boolean writes, int size, int threads, int count) {
        /** Takes a turn, and returns microseconds for a transfer. */
        double take(FileChannel device, ExecutorService pool, int seed) throws Exception {
            List<Callable<Boolean>> parts = new ArrayList<>();
            for (int i = 0; i < threads; i++) {
                int part = seed * threads + i;
                parts.add(() -> transfer(device, part));
            }
            long begin = System.nanoTime();
            for (Future<Boolean> part : pool.invokeAll(parts)) {
                part.get();
            }
            return (System.nanoTime() - begin) / 1e3 / count / threads;
        }

        private boolean transfer(FileChannel device, int seed) throws IOException {
            SplittableRandom random = new SplittableRandom(seed);
            try (Arena arena = Arena.ofConfined()) {
                ByteBuffer buffer = arena.allocate(size, 4096).asByteBuffer();
                for (int i = 0; i < count; i++) {
                    long at = (long) random.nextInt(AREA / size) * size;
                    int moved = writes ? device.write(buffer.clear(), at) : device.read(buffer.clear(), at);
                    if (moved != size) {
                        throw new IOException("moved " + moved + " bytes of " + size);
                    }
                }
            }
            return true;
        }
    }

    private static final List<Row> ROWS = List.of(
            new Row("read of 4 KiB", false, 4096, 1, 400),
            new Row("write of 4 KiB", true, 4096, 1, 400),
            new Row("read of 128 KiB, 4 at once", false, 128 << 10, 4, 30),
            new Row("write of 128 KiB, 4 at once", true, 128 << 10, 4, 30));

    /** Arguments: the block devices of the kernel's target and of MemoryDisk. */
    public static void main(String[] args) throws Exception {
        System.out.println("microseconds for a transfer, medians of " + TURNS + " turns: least to most");
        try (FileChannel kernel = open(args[0]);
                FileChannel disk = open(args[1]);
                ExecutorService pool = Executors.newFixedThreadPool(4)) {
            for (Row row : ROWS) {
                double[] theirs = new double[TURNS];
                double[] ours = new double[TURNS];
                double[] ratios = new double[TURNS];
                row.take(kernel, pool, TURNS);
                for (int i = 0; i < COLD; i++) {
                    row.take(disk, pool, TURNS);
                }
                for (int turn = 0; turn < TURNS; turn++) {
                    theirs[turn] = row.take(kernel, pool, turn);
                    ours[turn] = row.take(disk, pool, turn);
                    ratios[turn] = ours[turn] / theirs[turn];
                }
                System.out.printf(
                        "%s: kernel's target %s, MemoryDisk %s, ratio of each turn %s%n",
                        row.name, spread("%.0f", theirs), spread("%.0f", ours), spread("%.2f", ratios));
            }
        }
    }

    /** Opens a device for direct access, by an option whose class javac warns of. */
    private static FileChannel open(String device) throws Exception {
        Class<?> options = Class.forName("com.sun.nio.file.ExtendedOpenOption");
        OpenOption direct = (OpenOption) options.getField("DIRECT").get(null);
        return FileChannel.open(Path.of(device), StandardOpenOption.READ, StandardOpenOption.WRITE, direct);
    }

    private static String spread(String format, double[] figures) {
        double[] sorted = figures.clone();
        Arrays.sort(sorted);
        return (format + " (" + format + " to " + format + ")")
                .formatted(sorted[sorted.length / 2], sorted[0], sorted[sorted.length - 1]);
    }
}
