package dev.verbena.tools.device;

import dev.verbena.VerbsArena;
import dev.verbena.tools.command.Options;
import dev.verbena.tools.command.Tool;
import dev.verbena.verbs.AsyncEvent;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.Device;
import java.io.PrintStream;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;

/** Prints the asynchronous events of devices as they come. */
public final class Events {
    private static final String USAGE = """
            usage: verbena events [-n EVENTS] [DEVICE]

            Prints the asynchronous events of devices and their ports as they come, such as
            a link that goes down. Events of queues go to the program that has the queue
            (Context.events). Ctrl-C ends the tool.
              -n, --count=EVENTS   ends after this number of events""";

    private Events() {}

    /**
     * Runs the tool.
     *
     * @param args the options
     * @param out takes the output
     * @return the exit status
     * @throws InterruptedException if the thread is interrupted, as by Ctrl-C
     */
    public static int run(String[] args, PrintStream out) throws InterruptedException {
        Options options = Options.parse(args, USAGE, 1);
        int most = options.number("-n", Integer.MAX_VALUE, 1, Integer.MAX_VALUE);
        String wanted = options.operand(0);
        List<Device> devices = wanted.isEmpty() ? Device.list() : List.of(Device.named(wanted));
        if (devices.isEmpty()) {
            Device.first(); // throws, with advice on how to get a device
        }
        try (VerbsArena arena = VerbsArena.ofShared()) {
            return print(devices.stream().map(device -> device.open(arena)).toList(), most, out);
        }
    }

    /** An event, or the failure that ends the events of a device. */
    private sealed interface News {
        record Of(AsyncEvent event) implements News {}

        record End(Exception failure) implements News {}
    }

    static int print(List<Context> contexts, int most, PrintStream out) throws InterruptedException {
        BlockingQueue<News> news = new LinkedBlockingQueue<>();
        for (Context context : contexts) {
            context.ports().forEach(port -> line(out, port));
            Thread.ofPlatform()
                    .daemon()
                    .name("events-" + context.device().name())
                    .start(() -> read(context, news));
        }
        int open = contexts.size();
        int seen = 0;
        while (seen < most && open > 0) {
            switch (news.take()) {
                case News.Of of -> {
                    line(out, of.event());
                    seen++;
                }
                case News.End end -> {
                    line(out, Tool.inOneLine(end.failure()));
                    open--;
                }
            }
        }
        return open > 0 ? Tool.OK : Tool.FAILED;
    }

    /** Reads events until the device is removed or the context is closed. */
    private static void read(Context context, BlockingQueue<News> news) {
        try {
            while (true) {
                news.add(new News.Of(context.events().await(Tool.FOR_EVER)));
            }
        } catch (InterruptedException | RuntimeException end) {
            news.add(new News.End(end));
        }
    }

    private static void line(PrintStream out, Object text) {
        out.println(Instant.now().truncatedTo(ChronoUnit.MILLIS) + "  " + text);
        out.flush();
    }
}
