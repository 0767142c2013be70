package dev.verbena.docs;

import dev.verbena.VerbsArena;
import dev.verbena.verbs.AsyncEvent;
import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.Device;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.device.Port;
import dev.verbena.verbs.device.PortCounters;
import java.time.Duration;

/** Examples of devices and their events. */
final class DeviceSnippets {
    private DeviceSnippets() {}

    static void arena(String name) {
        // @start region="arena"
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            Context context = Device.named(name).open(arena);
            ProtectionDomain domain = context.allocateProtectionDomain(); // closed with the arena
            MemoryRegion buffer = domain.register(arena.allocate(4096, 64)); // closed before the memory is freed
            System.out.println(buffer);
        }
        // @end
    }

    static CompletionQueue open(String name, VerbsArena arena) {
        // @start region="open"
        Context context = Device.named(name).open(arena);
        CompletionQueue queue = context.createCompletionQueue(128); // closed with the same arena
        // @end
        return queue;
    }

    static void list() {
        // @start region="list"
        for (Device device : Device.list()) {
            try (VerbsArena arena = VerbsArena.ofConfined()) {
                Context context = device.open(arena);
                for (Port port : context.ports()) {
                    System.out.println(device.name() + " port " + port.number() + ": " + port.state());
                }
            }
        }
        // @end
    }

    static String event(Context context, Duration timeout) throws InterruptedException {
        // @start region="events"
        String news = switch (context.events().await(timeout)) {
            case AsyncEvent.OfPort event -> "port " + event.port() + ": " + event.type();
            case AsyncEvent.OfQueuePair event -> event.queuePair() + ": " + event.type();
            case AsyncEvent event -> event.toString();
        };
        // @end
        return news;
    }

    static PortCounters counters(Context context, Runnable work) {
        // @start region="counters"
        PortCounters before = context.counters(1);
        work.run();
        PortCounters during = context.counters(1).since(before);
        System.out.println(during); // port 1 of rxe0: rcvd_pkts 24, sent_pkts 24 (of 15 counters, the others are 0)
        // @end
        return during;
    }
}
