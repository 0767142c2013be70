package dev.verbena.walk;

import dev.verbena.verbs.AccessFlag;
import dev.verbena.verbs.Operation;
import dev.verbena.verbs.RemoteMemory;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** A work request of the model. */
final class Request {
    /** A piece of local memory. */
    record Piece(Node.RegionNode region, long start, long length) {
        @Override
        public String toString() {
            return region + "[" + start + ".." + (start + length) + ")";
        }
    }

    final long id;
    final Operation operation;
    final List<Piece> pieces = new ArrayList<>(2);
    byte @Nullable [] inline;

    @Nullable
    RemoteMemory remote;

    long compareAdd;
    long swap;
    int immediate;
    int key;
    Node.@Nullable WindowNode window;
    Set<AccessFlag> access = Set.of();
    Node.@Nullable PathNode path;
    int target;
    int qkey;
    boolean signaled = true;
    boolean solicited;
    /** The count of resets of the queue pair that the request was posted to. */
    int epoch;
    /** The count of requests that were posted to the queue until this one. */
    int serial;

    Request(long id, Operation operation) {
        this.id = id;
        this.operation = operation;
    }

    /** Returns a copy to post: a batch can be posted again, and a bind then gets another key. */
    Request posted(int nowEpoch) {
        Request copy = new Request(id, operation);
        copy.pieces.addAll(pieces);
        copy.inline = inline;
        copy.remote = remote;
        copy.compareAdd = compareAdd;
        copy.swap = swap;
        copy.immediate = immediate;
        copy.key = key;
        copy.window = window;
        copy.access = access;
        copy.path = path;
        copy.target = target;
        copy.qkey = qkey;
        copy.signaled = signaled;
        copy.solicited = solicited;
        copy.epoch = nowEpoch;
        return copy;
    }

    long length() {
        return inline != null
                ? inline.length
                : pieces.stream().mapToLong(Piece::length).sum();
    }

    boolean hasImmediate() {
        return operation == Operation.SEND_WITH_IMMEDIATE || operation == Operation.RDMA_WRITE_WITH_IMMEDIATE;
    }

    boolean isAtomic() {
        return operation == Operation.FETCH_AND_ADD || operation == Operation.COMPARE_AND_SWAP;
    }

    @Override
    public String toString() {
        return "#" + id + " " + operation
                + (inline != null ? " inline " + inline.length + " bytes" : pieces.isEmpty() ? "" : " " + pieces)
                + (remote == null ? "" : " remote " + remote)
                + (window == null ? "" : " " + window + " " + access)
                + (path == null ? "" : " by " + path + " to QP " + target)
                + (operation == Operation.LOCAL_INVALIDATE || operation == Operation.SEND_WITH_INVALIDATE
                        ? " key 0x" + Integer.toHexString(key)
                        : "")
                + (signaled ? "" : " unsignaled")
                + (solicited ? " solicited" : "");
    }
}
