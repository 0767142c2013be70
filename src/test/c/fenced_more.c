/*
 * A part of fenced.c: functions that few devices have, or that newer headers than those of this compiler declare.
 */

/* --- clocks, rates, orders --- */

static int query_rt_values(struct ibv_context *context, struct ibv_values_ex *values)
{
	int error = enter("ibv_query_rt_values_ex");
	(void)context;
	if (!error && values->comp_mask == IBV_VALUES_MASK_RAW_CLOCK &&
	    !copy_answer("ibv_query_rt_values_ex", values, sizeof(*values)))
		values->raw_clock = (struct timespec){ 5, 7 };
	return answer(error);
}

static int modify_qp_rate_limit(struct ibv_qp *qp, struct ibv_qp_rate_limit_attr *attributes)
{
	int error = enter("ibv_modify_qp_rate_limit");
	(void)qp;
	keep_given("ibv_modify_qp_rate_limit", attributes, sizeof(*attributes));
	return answer(error);
}

static struct ibv_ece known_ece = { .vendor_id = 0x15b3, .options = 0x77 };

API int ibv_query_ece(struct ibv_qp *qp, struct ibv_ece *ece)
{
	int error = enter("ibv_query_ece");
	(void)qp;
	if (!error)
		*ece = known_ece;
	return answer(error);
}

API int ibv_set_ece(struct ibv_qp *qp, struct ibv_ece *ece)
{
	int error = enter("ibv_set_ece");
	(void)qp;
	keep_given("ibv_set_ece", ece, sizeof(*ece));
	return answer(error);
}

/* Without flags it answers for whole messages only, and so did older libraries with any flags. */
API int ibv_query_qp_data_in_order(struct ibv_qp *qp, enum ibv_wr_opcode opcode, uint32_t flags)
{
	int error = enter("ibv_query_qp_data_in_order"), bits = 0;
	uint32_t arguments[] = { opcode, flags };
	(void)qp;
	keep_given("ibv_query_qp_data_in_order", arguments, sizeof(arguments));
	copy_answer("ibv_query_qp_data_in_order", &bits, sizeof(bits));
	leave();
	return error ? 0 : flags ? bits : 1;
}

/* --- queue pairs of other processes --- */

static struct ibv_qp *open_qp(struct ibv_context *context, struct ibv_qp_open_attr *attributes)
{
	int error = enter("ibv_open_qp");
	keep_given("ibv_open_qp", attributes, sizeof(*attributes));
	struct fenced_qp *qp = error ? NULL : make(QP, sizeof(*qp));
	if (!qp)
		return refuse(error ? error : ENOMEM);
	struct ibv_qp *base = &qp->ibv.qp_base;
	base->context = context;
	base->qp_type = attributes->qp_type;
	base->qp_num = attributes->qp_num;
	base->handle = next_handle++;
	base->state = qp->attr.qp_state = IBV_QPS_RTR;
	qp->xrcd = attributes->xrcd;
	use_rare(qp, 1);
	begin(&qp->sends, 0);
	begin(&qp->receives, 0);
	of(context)->users++;
	qp->next = queue_pairs;
	queue_pairs = qp;
	leave();
	return base;
}

/* --- counters --- */

static int attach_counters_point_flow(struct ibv_counters *counters, struct ibv_counter_attach_attr *attributes,
				      struct ibv_flow *flow)
{
	int error = enter("ibv_attach_counters_point_flow");
	uint64_t arguments[] = { (uintptr_t)counters, attributes->counter_desc, attributes->index, flow ? flow->handle : 0 };
	keep_given("ibv_attach_counters_point_flow", arguments, sizeof(arguments));
	return answer(error);
}

/* The counters are 100, 101 and so on, or 200, 201 if cached ones will do. */
static int read_counters(struct ibv_counters *counters, uint64_t *values, uint32_t count, uint32_t flags)
{
	int error = enter("ibv_read_counters");
	(void)counters;
	for (uint32_t i = 0; i < count && !error; i++)
		values[i] = (flags & IBV_READ_COUNTERS_ATTR_PREFER_CACHED ? 200 : 100) + i;
	return answer(error);
}

/* --- tag matching --- */

static int post_srq_ops(struct ibv_srq *ibsrq, struct ibv_ops_wr *op, struct ibv_ops_wr **bad)
{
	struct fenced_srq *srq = (struct fenced_srq *)ibsrq;
	int error = enter("ibv_post_srq_ops");
	keep_given("ibv_post_srq_ops", op, sizeof(*op));
	if (!error && !srq->cq)
		error = EOPNOTSUPP;
	if (!error && op->opcode == IBV_WR_TAG_ADD) {
		keep_given("ibv_post_srq_ops.sg_list", op->tm.add.sg_list, sizeof(struct ibv_sge));
		op->tm.handle = 0x7a9;
	}
	if (error)
		*bad = op;
	return answer(error);
}

/* --- functions of newer releases --- */

API struct ibv_mr *ibv_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset, size_t length, uint64_t iova, int descriptor,
				     int access)
{
	int error = enter("ibv_reg_dmabuf_mr");
	uint64_t arguments[] = { offset, length, iova, (uint64_t)descriptor, (uint64_t)access };
	keep_given("ibv_reg_dmabuf_mr", arguments, sizeof(arguments));
	if (!error && fcntl(descriptor, F_GETFD) < 0)
		error = EBADF;
	if (error)
		return refuse(error);
	struct fenced_mr *mr = new_mr(pd, NULL, 0, iova, access);
	if (!mr)
		return refuse(ENOMEM);
	leave();
	return &mr->ibv;
}

API int _ibv_query_gid_ex(struct ibv_context *context, uint32_t port, uint32_t index, struct ibv_gid_entry *entry,
			  uint32_t flags, size_t size)
{
	int error = enter("ibv_query_gid_ex");
	leave();
	(void)flags;
	if (error || port != 1)
		return error ? error : EINVAL;
	if (index)
		return ENODATA;
	memset(entry, 0, size);
	entry->port_num = port;
	entry->gid_type = IBV_GID_TYPE_ROCE_V2;
	return ibv_query_gid(context, (uint8_t)port, 0, &entry->gid);
}

API int ibv_resolve_eth_l2_from_gid(struct ibv_context *context, struct ibv_ah_attr *attributes,
				    uint8_t mac[6], uint16_t *vlan)
{
	static const uint8_t address[6] = { 0x02, 0x13, 0x24, 0x35, 0x46, 0x57 };
	int error = enter("ibv_resolve_eth_l2_from_gid");
	(void)context;
	keep_given("ibv_resolve_eth_l2_from_gid", attributes, sizeof(*attributes));
	if (!error) {
		memcpy(mac, address, sizeof(address));
		*vlan = 0x123;
	}
	return answer(error);
}

/* Its result is a descriptor, or -1: an error is of the caller's to find. */
API int ibv_dm_export_dmabuf_fd(struct ibv_dm *dm)
{
	int error = enter("ibv_dm_export_dmabuf_fd");
	uint64_t argument = (uintptr_t)dm;
	keep_given("ibv_dm_export_dmabuf_fd", &argument, sizeof(argument));
	leave();
	errno = error;
	return error ? -1 : eventfd(0, EFD_CLOEXEC);
}

/* In units of 100 Mbit/s. */
API int ibv_query_port_speed(struct ibv_context *context, uint32_t port, uint64_t *speed)
{
	int error = enter("ibv_query_port_speed");
	(void)context;
	if (!error && port != 1)
		error = EINVAL;
	if (!error)
		*speed = 2000;
	return answer(error);
}
