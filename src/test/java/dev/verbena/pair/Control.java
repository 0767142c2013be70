package dev.verbena.pair;

import java.io.IOException;
import java.io.RandomAccessFile;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/** The port through which this guest asks for faults. It stays open. */
final class Control {
    private static final Path PORT = Path.of("/dev/virtio-ports/verbena.control");
    private static final int PATIENCE = 60; // seconds

    private static final BlockingQueue<String> ANSWERS = new LinkedBlockingQueue<>();
    private static final RandomAccessFile FILE = open();
    private static int number;

    private Control() {}

    private static RandomAccessFile open() {
        try {
            RandomAccessFile file = new RandomAccessFile(PORT.toFile(), "rw");
            Thread.ofPlatform().daemon().name("answers").start(() -> read(file));
            return file;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static void read(RandomAccessFile file) {
        try {
            for (; ; ) {
                ANSWERS.add(file.readLine());
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Sends a request and returns the answer: 0, or another status with the reason. */
    static synchronized String ask(String request) throws IOException, InterruptedException {
        String id = "j" + ++number;
        FILE.write((System.getenv("VERBENA_SIDE") + " " + id + " " + request + "\n").getBytes(StandardCharsets.UTF_8));
        String answer;
        do {
            answer = ANSWERS.poll(PATIENCE, TimeUnit.SECONDS);
            if (answer == null) {
                throw new AssertionError("no answer to '" + request + "' in " + PATIENCE + " s");
            }
        } while (!answer.startsWith(id + " "));
        return answer.substring(id.length() + 1).strip();
    }
}
