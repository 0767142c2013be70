package dev.verbena.docs;

import dev.verbena.verbs.CompletionChannel;
import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.CompletionQueueOptions;
import dev.verbena.verbs.Completions;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.LocalMemory;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.RemoteMemory;
import dev.verbena.verbs.SendSlots;
import dev.verbena.verbs.WorkCompletion;
import java.time.Duration;
import java.util.List;
import java.util.function.LongConsumer;

/** Examples of waiting for completions. */
final class CompletionSnippets {
    private CompletionSnippets() {}

    static long await(CompletionQueue cq) throws InterruptedException {
        // @start region="await"
        WorkCompletion completion = cq.await(Duration.ofSeconds(60)).orThrow();
        System.out.println(completion.id() + " is done: " + completion.byteLength() + " bytes");
        // @end
        return completion.id();
    }

    static int spin(CompletionQueue cq, LongConsumer finish) {
        // @start region="poll"
        Completions done = cq.completions(16); // made once
        int count;
        while ((count = done.poll()) == 0) {
            Thread.onSpinWait();
        }
        while (done.next()) {
            finish.accept(done.orThrow().id());
        }
        // @end
        return count;
    }

    static void writeAll(QueuePair pair, LocalMemory local, RemoteMemory remote, int count, Duration timeout)
            throws InterruptedException {
        // @start region="slots"
        SendSlots slots = SendSlots.of(pair); // before the first send
        Completions done = pair.sendQueue().completions(16);
        for (int i = 0; i < count; i++) {
            while (slots.free() == 0) {
                done.await(timeout);
                while (done.next()) {
                    done.orThrow();
                }
            }
            pair.postWrite(i, local, remote);
        }
        // @end
    }

    static List<CompletionQueue> channel(Context context) {
        // @start region="channel"
        CompletionChannel channel = context.createCompletionChannel();
        CompletionQueue first =
                context.createCompletionQueue(CompletionQueueOptions.of(16).channel(channel));
        CompletionQueue second =
                context.createCompletionQueue(CompletionQueueOptions.of(16).channel(channel));
        first.requestNotification(false);
        second.requestNotification(false);
        // @end
        return List.of(first, second);
    }

    static void serve(CompletionChannel channel, LongConsumer finish, Duration timeout) throws InterruptedException {
        // @start region="serve"
        CompletionQueue cq = channel.await(timeout);
        cq.requestNotification(false); // before the poll: a completion in between is reported again
        WorkCompletion completion;
        while ((completion = cq.poll()) != null) { // one event can stand for many completions
            finish.accept(completion.id());
        }
        // @end
    }
}
