package dev.verbena.internal;

import dev.verbena.internal.raw.ibv_context;
import dev.verbena.internal.raw.ibv_context_ops;
import dev.verbena.internal.raw.verbs_context;
import java.lang.foreign.MemorySegment;
import java.util.Optional;

/**
 * A verb of the control path that C calls through a pointer of its context. The oldest pointers are in
 * {@code ibv_context.ops}. The others are in {@code struct verbs_context}, which lies <em>in front of</em> the
 * {@code ibv_context} and grows at its own front: a field keeps its distance to the context, and the struct of an older
 * library begins later.
 */
public enum ContextVerb {
    CLOSE_XRCD("ibv_close_xrcd", inFront(verbs_context.close_xrcd$offset())),
    CREATE_CQ_EX("ibv_create_cq_ex", inFront(verbs_context.create_cq_ex$offset())),
    CREATE_QP_EX("ibv_create_qp_ex", inFront(verbs_context.create_qp_ex$offset())),
    ADVISE_MR("ibv_advise_mr", inFront(verbs_context.advise_mr$offset())),
    ALLOC_NULL_MR("ibv_alloc_null_mr", inFront(verbs_context.alloc_null_mr$offset())),
    ALLOC_DM("ibv_alloc_dm", inFront(verbs_context.alloc_dm$offset())),
    FREE_DM("ibv_free_dm", inFront(verbs_context.free_dm$offset())),
    REG_DM_MR("ibv_reg_dm_mr", inFront(verbs_context.reg_dm_mr$offset())),
    ALLOC_TD("ibv_alloc_td", inFront(verbs_context.alloc_td$offset())),
    DEALLOC_TD("ibv_dealloc_td", inFront(verbs_context.dealloc_td$offset())),
    ALLOC_PARENT_DOMAIN("ibv_alloc_parent_domain", inFront(verbs_context.alloc_parent_domain$offset())),
    CREATE_FLOW("ibv_create_flow", inFront(verbs_context.ibv_create_flow$offset())),
    DESTROY_FLOW("ibv_destroy_flow", inFront(verbs_context.ibv_destroy_flow$offset())),
    CREATE_COUNTERS("ibv_create_counters", inFront(verbs_context.create_counters$offset())),
    DESTROY_COUNTERS("ibv_destroy_counters", inFront(verbs_context.destroy_counters$offset())),
    ATTACH_COUNTERS_POINT_FLOW(
            "ibv_attach_counters_point_flow", inFront(verbs_context.attach_counters_point_flow$offset())),
    READ_COUNTERS("ibv_read_counters", inFront(verbs_context.read_counters$offset())),
    CREATE_WQ("ibv_create_wq", inFront(verbs_context.create_wq$offset())),
    MODIFY_WQ("ibv_modify_wq", inFront(verbs_context.modify_wq$offset())),
    DESTROY_WQ("ibv_destroy_wq", inFront(verbs_context.destroy_wq$offset())),
    CREATE_RWQ_IND_TABLE("ibv_create_rwq_ind_table", inFront(verbs_context.create_rwq_ind_table$offset())),
    DESTROY_RWQ_IND_TABLE("ibv_destroy_rwq_ind_table", inFront(verbs_context.destroy_rwq_ind_table$offset())),
    CREATE_SRQ_EX("ibv_create_srq_ex", inFront(verbs_context.create_srq_ex$offset())),
    GET_SRQ_NUM("ibv_get_srq_num", inFront(verbs_context.get_srq_num$offset())),
    MODIFY_CQ("ibv_modify_cq", inFront(verbs_context.modify_cq$offset())),
    MODIFY_QP_RATE_LIMIT("ibv_modify_qp_rate_limit", inFront(verbs_context.modify_qp_rate_limit$offset())),
    OPEN_QP("ibv_open_qp", inFront(verbs_context.open_qp$offset())),
    OPEN_XRCD("ibv_open_xrcd", inFront(verbs_context.open_xrcd$offset())),
    POST_SRQ_OPS("ibv_post_srq_ops", inFront(verbs_context.post_srq_ops$offset())),
    QUERY_DEVICE_EX("ibv_query_device_ex", inFront(verbs_context.query_device_ex$offset())),
    QUERY_PORT("ibv_query_port", inFront(verbs_context.query_port$offset())),
    QUERY_RT_VALUES("ibv_query_rt_values_ex", inFront(verbs_context.query_rt_values$offset())),
    ALLOC_MW("ibv_alloc_mw", inOps(ibv_context_ops.alloc_mw$offset())),
    BIND_MW("ibv_bind_mw", inOps(ibv_context_ops.bind_mw$offset())),
    DEALLOC_MW("ibv_dealloc_mw", inOps(ibv_context_ops.dealloc_mw$offset()));

    /** The value of {@code abi_compat} if there is a {@code verbs_context} in front. */
    private static final long EXTENDED = -1L;

    private final String verb;

    /** The distance from the context to the pointer, negative in the struct in front. */
    private final long distance;

    ContextVerb(String verb, long distance) {
        this.verb = verb;
        this.distance = distance;
    }

    private static long inFront(long offset) {
        return offset - verbs_context.context$offset();
    }

    private static long inOps(long offset) {
        return ibv_context.ops$offset() + offset;
    }

    /** Returns the C name. */
    public String verb() {
        return verb;
    }

    /** Returns the function of a context. Not all libraries and drivers have all of them. */
    public CFunction in(long context) {
        return CFunction.at(verb, find(context).orElse(MemorySegment.NULL));
    }

    private Optional<MemorySegment> find(long context) {
        if (distance < 0 && !reaches(context)) {
            return Optional.empty();
        }
        long function = Memory.getLong(context + distance);
        return function == 0 ? Optional.empty() : Optional.of(MemorySegment.ofAddress(function));
    }

    /** Returns whether the struct in front of a context, as large as its library made it, has the pointer. */
    private boolean reaches(long context) {
        return Memory.getLong(context + ibv_context.abi_compat$offset()) == EXTENDED
                && Memory.getLong(context + inFront(verbs_context.sz$offset()))
                        >= verbs_context.sizeof() - verbs_context.context$offset() - distance;
    }
}
