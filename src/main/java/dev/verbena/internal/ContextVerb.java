package dev.verbena.internal;

import dev.verbena.internal.raw.ibv_context;
import dev.verbena.internal.raw.verbs_context;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Optional;

/**
 * A verb that C calls through {@code struct verbs_context}. The struct lies <em>in front of</em> the
 * {@code ibv_context} and grows at its own front. A field keeps its distance to the context, and the struct of an older
 * library begins later.
 */
public enum ContextVerb {
    CLOSE_XRCD("ibv_close_xrcd", verbs_context.close_xrcd$offset()),
    CREATE_CQ_EX("ibv_create_cq_ex", verbs_context.create_cq_ex$offset()),
    CREATE_QP_EX("ibv_create_qp_ex", verbs_context.create_qp_ex$offset()),
    ADVISE_MR("ibv_advise_mr", verbs_context.advise_mr$offset()),
    ALLOC_NULL_MR("ibv_alloc_null_mr", verbs_context.alloc_null_mr$offset()),
    ALLOC_DM("ibv_alloc_dm", verbs_context.alloc_dm$offset()),
    FREE_DM("ibv_free_dm", verbs_context.free_dm$offset()),
    REG_DM_MR("ibv_reg_dm_mr", verbs_context.reg_dm_mr$offset()),
    ALLOC_TD("ibv_alloc_td", verbs_context.alloc_td$offset()),
    DEALLOC_TD("ibv_dealloc_td", verbs_context.dealloc_td$offset()),
    ALLOC_PARENT_DOMAIN("ibv_alloc_parent_domain", verbs_context.alloc_parent_domain$offset()),
    CREATE_FLOW("ibv_create_flow", verbs_context.ibv_create_flow$offset()),
    DESTROY_FLOW("ibv_destroy_flow", verbs_context.ibv_destroy_flow$offset()),
    CREATE_COUNTERS("ibv_create_counters", verbs_context.create_counters$offset()),
    DESTROY_COUNTERS("ibv_destroy_counters", verbs_context.destroy_counters$offset()),
    ATTACH_COUNTERS_POINT_FLOW("ibv_attach_counters_point_flow", verbs_context.attach_counters_point_flow$offset()),
    READ_COUNTERS("ibv_read_counters", verbs_context.read_counters$offset()),
    CREATE_WQ("ibv_create_wq", verbs_context.create_wq$offset()),
    MODIFY_WQ("ibv_modify_wq", verbs_context.modify_wq$offset()),
    DESTROY_WQ("ibv_destroy_wq", verbs_context.destroy_wq$offset()),
    CREATE_RWQ_IND_TABLE("ibv_create_rwq_ind_table", verbs_context.create_rwq_ind_table$offset()),
    DESTROY_RWQ_IND_TABLE("ibv_destroy_rwq_ind_table", verbs_context.destroy_rwq_ind_table$offset()),
    CREATE_SRQ_EX("ibv_create_srq_ex", verbs_context.create_srq_ex$offset()),
    GET_SRQ_NUM("ibv_get_srq_num", verbs_context.get_srq_num$offset()),
    MODIFY_CQ("ibv_modify_cq", verbs_context.modify_cq$offset()),
    MODIFY_QP_RATE_LIMIT("ibv_modify_qp_rate_limit", verbs_context.modify_qp_rate_limit$offset()),
    OPEN_QP("ibv_open_qp", verbs_context.open_qp$offset()),
    OPEN_XRCD("ibv_open_xrcd", verbs_context.open_xrcd$offset()),
    POST_SRQ_OPS("ibv_post_srq_ops", verbs_context.post_srq_ops$offset()),
    QUERY_DEVICE_EX("ibv_query_device_ex", verbs_context.query_device_ex$offset()),
    QUERY_PORT("ibv_query_port", verbs_context.query_port$offset()),
    QUERY_RT_VALUES("ibv_query_rt_values_ex", verbs_context.query_rt_values$offset());

    /** The value of {@code abi_compat} if there is a {@code verbs_context} in front. */
    private static final long EXTENDED = -1L;

    private static final long CONTEXT = verbs_context.context$offset();
    private static final long SIZE = verbs_context.sz$offset();

    private final String verb;
    private final long offset;

    ContextVerb(String verb, long offset) {
        this.verb = verb;
        this.offset = offset;
    }

    /** Returns the C name. */
    public String verb() {
        return verb;
    }

    /** Returns the function for a context, if its library and provider have it. */
    public Optional<MemorySegment> in(long context) {
        MemorySegment own = MemorySegment.ofAddress(context).reinterpret(ibv_context.sizeof());
        if (ibv_context.abi_compat(own).address() != EXTENDED) {
            return Optional.empty();
        }
        long reach = CONTEXT - offset;
        MemorySegment front = MemorySegment.ofAddress(context - reach).reinterpret(reach);
        long size = MemorySegment.ofAddress(context - (CONTEXT - SIZE))
                .reinterpret(Long.BYTES)
                .get(ValueLayout.JAVA_LONG, 0);
        if (size < verbs_context.sizeof() - offset) {
            return Optional.empty();
        }
        long function = front.get(ValueLayout.JAVA_LONG, 0); // the handle of an address takes 20 ms to make
        return function == 0 ? Optional.empty() : Optional.of(MemorySegment.ofAddress(function));
    }
}
