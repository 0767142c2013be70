package dev.verbena.docs;

import dev.verbena.UnsupportedVerbException;
import dev.verbena.VerbsException;
import dev.verbena.VerbsTimeoutException;
import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.WorkCompletion;
import dev.verbena.verbs.WorkCompletionException;
import dev.verbena.verbs.WorkStatus;
import java.lang.foreign.MemorySegment;
import java.time.Duration;

/** Examples of the ways in which verbs fail. */
final class ErrorSnippets {
    private ErrorSnippets() {}

    static String verb(ProtectionDomain domain, MemorySegment memory) {
        // @start region="verb"
        try {
            MemoryRegion region = domain.register(memory);
            return "registered " + region.length() + " bytes";
        } catch (UnsupportedVerbException e) {
            return "this device, kernel or rdma-core lacks " + e.verb();
        } catch (VerbsException e) {
            return e.verb() + " failed with " + e.errnoName();
        }
        // @end
    }

    static String completion(CompletionQueue cq, Duration timeout) throws InterruptedException {
        // @start region="completion"
        try {
            cq.await(timeout).orThrow();
            return "done";
        } catch (VerbsTimeoutException e) {
            return "nothing completed in time";
        } catch (WorkCompletionException e) {
            return "request " + e.completion().id() + " failed: "
                    + e.completion().status();
        }
        // @end
    }

    static boolean retry(WorkCompletion completion) {
        // @start region="status"
        boolean peerIsGone = completion.status() == WorkStatus.RETRY_EXCEEDED;
        // @end
        return peerIsGone;
    }
}
