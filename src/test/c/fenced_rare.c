/*
 * A part of fenced.c: objects that few devices support, and objects of other processes. They count their users, and move no
 * bytes.
 */

/* --- memory of the adapter --- */

struct fenced_dm {
	struct ibv_dm ibv;
	struct fenced_dm *origin; /* of an imported one */
	char *bytes;
	size_t length;
	int users;
	struct fenced_dm *next;
};

static struct fenced_dm *device_memories;

static int memcpy_to_dm(struct ibv_dm *ibdm, uint64_t offset, const void *from, size_t length)
{
	struct fenced_dm *dm = (struct fenced_dm *)ibdm;
	int error = enter("ibv_memcpy_to_dm");
	if (!error && (offset > dm->length || length > dm->length - offset))
		error = EINVAL;
	if (!error)
		memcpy(dm->bytes + offset, from, length);
	return answer(error);
}

static int memcpy_from_dm(void *to, struct ibv_dm *ibdm, uint64_t offset, size_t length)
{
	struct fenced_dm *dm = (struct fenced_dm *)ibdm;
	int error = enter("ibv_memcpy_from_dm");
	if (!error && (offset > dm->length || length > dm->length - offset))
		error = EINVAL;
	if (!error)
		memcpy(to, dm->bytes + offset, length);
	return answer(error);
}

static struct fenced_dm *new_dm(struct ibv_context *context, char *bytes, size_t length, uint32_t handle)
{
	struct fenced_dm *dm = make(DM, sizeof(*dm));
	if (!dm)
		return NULL;
	dm->ibv.context = context;
	dm->ibv.memcpy_to_dm = memcpy_to_dm;
	dm->ibv.memcpy_from_dm = memcpy_from_dm;
	dm->ibv.handle = handle;
	dm->bytes = bytes;
	dm->length = length;
	of(context)->users++;
	dm->next = device_memories;
	device_memories = dm;
	return dm;
}

static struct ibv_dm *alloc_dm(struct ibv_context *context, struct ibv_alloc_dm_attr *attributes)
{
	int error = enter("ibv_alloc_dm");
	keep_given("ibv_alloc_dm", attributes, sizeof(*attributes));
	if (!error && attributes->length > 1 << 20)
		error = EINVAL;
	char *bytes = error ? NULL : pages(attributes->length);
	if (!error && !bytes)
		error = ENOMEM;
	if (error)
		return refuse(error);
	struct fenced_dm *dm = new_dm(context, bytes, attributes->length, next_handle++);
	if (!dm)
		return refuse(ENOMEM);
	leave();
	return &dm->ibv;
}

static void forget_dm(struct fenced_dm *dm)
{
	for (struct fenced_dm **at = &device_memories; *at; at = &(*at)->next) {
		if (*at == dm) {
			*at = dm->next;
			break;
		}
	}
	of(dm->ibv.context)->users--;
	unmake(DM, dm, sizeof(*dm));
}

static int free_dm(struct ibv_dm *ibdm)
{
	struct fenced_dm *dm = (struct fenced_dm *)ibdm;
	int error = enter("ibv_free_dm");
	if (error || dm->users)
		return answer(error ? error : EBUSY);
	fence(dm->bytes, dm->length);
	forget_dm(dm);
	return answer(0);
}

static struct ibv_mr *reg_dm_mr(struct ibv_pd *pd, struct ibv_dm *ibdm, uint64_t offset, size_t length,
				unsigned int access)
{
	struct fenced_dm *dm = (struct fenced_dm *)ibdm;
	int error = enter("ibv_reg_dm_mr");
	if (!error && (offset > dm->length || length > dm->length - offset || !(access & IBV_ACCESS_ZERO_BASED)))
		error = EINVAL;
	if (error)
		return refuse(error);
	struct fenced_mr *mr = new_mr(pd, dm->bytes + offset, length, 0, (int)access);
	if (!mr)
		return refuse(ENOMEM);
	mr->more_users = &dm->users;
	dm->users++;
	leave();
	return &mr->ibv;
}

static struct ibv_mr *alloc_null_mr(struct ibv_pd *pd)
{
	int error = enter("ibv_alloc_null_mr");
	if (error)
		return refuse(error);
	struct fenced_mr *mr = new_mr(pd, NULL, 0, 0, IBV_ACCESS_LOCAL_WRITE);
	if (!mr)
		return refuse(ENOMEM);
	leave();
	return &mr->ibv;
}

/* --- objects of other processes: here, of other contexts of this process --- */

API struct ibv_context *ibv_import_device(int descriptor)
{
	int error = enter("ibv_import_device");
	if (!error && fcntl(descriptor, F_GETFD) < 0)
		error = EBADF;
	if (error)
		return refuse(error);
	struct ibv_context *context = new_context(&device, descriptor);
	if (!context)
		return refuse(errno);
	leave();
	return context;
}

API struct ibv_pd *ibv_import_pd(struct ibv_context *context, uint32_t handle)
{
	int error = enter("ibv_import_pd");
	struct fenced_pd *origin = domains;
	while (origin && (origin->ibv.handle != handle || origin->imported))
		origin = origin->next;
	if (!error && !origin)
		error = ENOENT;
	if (error)
		return refuse(error);
	struct fenced_pd *pd = new_pd(context, handle);
	if (!pd)
		return refuse(ENOMEM);
	pd->imported = 1;
	pd->root = root(&origin->ibv);
	leave();
	return &pd->ibv;
}

API void ibv_unimport_pd(struct ibv_pd *ibpd)
{
	struct fenced_pd *pd = (struct fenced_pd *)ibpd;
	if (enter("ibv_unimport_pd") || pd->users)
		violate("ibv_unimport_pd of a domain with %d users", pd->users);
	forget_pd(pd);
	leave();
}

API struct ibv_mr *ibv_import_mr(struct ibv_pd *ibpd, uint32_t handle)
{
	int error = enter("ibv_import_mr");
	struct fenced_mr *origin = regions;
	while (origin && origin->ibv.handle != handle)
		origin = origin->next;
	if (!error && !origin)
		error = ENOENT;
	if (error)
		return refuse(error);
	struct fenced_mr *mr = make(MR, sizeof(*mr)); /* not one of the regions: its keys are those of the origin */
	if (!mr)
		return refuse(ENOMEM);
	mr->ibv.context = ibpd->context;
	mr->ibv.pd = ibpd;
	mr->ibv.length = origin->ibv.length;
	mr->ibv.handle = handle;
	mr->ibv.lkey = origin->ibv.lkey;
	mr->ibv.rkey = origin->ibv.rkey;
	mr->pd = (struct fenced_pd *)ibpd;
	mr->pd->users++;
	leave();
	return &mr->ibv;
}

API void ibv_unimport_mr(struct ibv_mr *ibmr)
{
	struct fenced_mr *mr = (struct fenced_mr *)ibmr;
	(void)enter("ibv_unimport_mr");
	mr->pd->users--;
	unmake(MR, mr, sizeof(*mr));
	leave();
}

API struct ibv_dm *ibv_import_dm(struct ibv_context *context, uint32_t handle)
{
	int error = enter("ibv_import_dm");
	struct fenced_dm *origin = device_memories;
	while (origin && (origin->ibv.handle != handle || origin->origin))
		origin = origin->next;
	if (!error && !origin)
		error = ENOENT;
	if (error)
		return refuse(error);
	struct fenced_dm *dm = new_dm(context, origin->bytes, origin->length, handle);
	if (!dm)
		return refuse(ENOMEM);
	dm->origin = origin;
	leave();
	return &dm->ibv;
}

API void ibv_unimport_dm(struct ibv_dm *ibdm)
{
	struct fenced_dm *dm = (struct fenced_dm *)ibdm;
	if (enter("ibv_unimport_dm") || dm->users)
		violate("ibv_unimport_dm of memory with %d users", dm->users);
	forget_dm(dm);
	leave();
}

/* --- XRC domains --- */

struct fenced_xrcd {
	struct ibv_xrcd ibv;
	int users;
};

static struct ibv_xrcd *open_xrcd(struct ibv_context *context, struct ibv_xrcd_init_attr *init)
{
	int error = enter("ibv_open_xrcd");
	keep_given("ibv_open_xrcd", init, sizeof(*init));
	if (error)
		return refuse(error);
	struct fenced_xrcd *xrcd = make(XRCD, sizeof(*xrcd));
	if (!xrcd)
		return refuse(ENOMEM);
	xrcd->ibv.context = context;
	of(context)->users++;
	leave();
	return &xrcd->ibv;
}

static int close_xrcd(struct ibv_xrcd *ibxrcd)
{
	struct fenced_xrcd *xrcd = (struct fenced_xrcd *)ibxrcd;
	int error = enter("ibv_close_xrcd");
	if (error || xrcd->users)
		return answer(error ? error : EBUSY);
	of(ibxrcd->context)->users--;
	unmake(XRCD, xrcd, sizeof(*xrcd));
	return answer(0);
}

/* --- advice --- */

/* Takes advice on ranges of registered memory. */
static int advise_mr(struct ibv_pd *pd, enum ib_uverbs_advise_mr_advice advice, uint32_t flags, struct ibv_sge *list,
		     uint32_t count)
{
	int error = enter("ibv_advise_mr");
	keep_given("ibv_advise_mr", list, count * sizeof(*list));
	if (!error && (advice > IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT || flags > 1 || !count))
		error = EINVAL;
	for (uint32_t i = 0; i < count && !error; i++)
		if (!list[i].length || !local(pd, list + i, 0))
			error = EFAULT;
	return answer(error);
}

/* --- work queues, and tables of them --- */

struct fenced_wq {
	struct ibv_wq ibv;
	struct queue receives;
	uint32_t max_sge;
	int users;
};

struct fenced_table {
	struct ibv_rwq_ind_table ibv;
	struct fenced_wq **queues;
	int count;
	int users;
};

/* Counts a queue pair among the users of its XRC domain and its table. */
static void use_rare(struct fenced_qp *qp, int change)
{
	if (qp->xrcd)
		((struct fenced_xrcd *)qp->xrcd)->users += change;
	if (qp->table)
		((struct fenced_table *)qp->table)->users += change;
}

static int post_wq_recv(struct ibv_wq *ibwq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	struct fenced_wq *wq = (struct fenced_wq *)ibwq;
	int error = enter("ibv_post_wq_recv");
	return answer(error ? error : accept_receives(0, &wq->receives, wr, bad, (int)wq->max_sge));
}

static struct ibv_wq *create_wq(struct ibv_context *context, struct ibv_wq_init_attr *init)
{
	int error = enter("ibv_create_wq");
	if (!error && (!init->max_wr || init->max_wr > 1 << 14 || init->max_sge > 16))
		error = EINVAL;
	if (error)
		return refuse(error);
	struct fenced_wq *wq = make(WQ, sizeof(*wq));
	if (!wq)
		return refuse(ENOMEM);
	wq->ibv.context = context;
	wq->ibv.pd = init->pd;
	wq->ibv.cq = init->cq;
	wq->ibv.wq_num = next_number++;
	wq->ibv.handle = next_handle++;
	wq->ibv.state = IBV_WQS_RESET;
	wq->ibv.wq_type = init->wq_type;
	wq->ibv.post_recv = post_wq_recv;
	wq->ibv.wq_context = wq; /* as malloc() leaves it: the inline function of C sets these four */
	wq->ibv.events_completed = 77;
	memset(&wq->ibv.mutex, 0x5a, sizeof(wq->ibv.mutex));
	memset(&wq->ibv.cond, 0x5a, sizeof(wq->ibv.cond));
	wq->max_sge = init->max_sge;
	begin(&wq->receives, init->max_wr);
	note("ibv_create_wq.comp_mask", init->comp_mask);
	note("ibv_create_wq.create_flags", init->create_flags);
	note("ibv_create_wq.wq_type", init->wq_type);
	((struct fenced_pd *)init->pd)->users++;
	((struct fenced_cq *)init->cq)->users++;
	of(context)->users++;
	leave();
	return &wq->ibv;
}

static int modify_wq(struct ibv_wq *ibwq, struct ibv_wq_attr *attributes)
{
	struct fenced_wq *wq = (struct fenced_wq *)ibwq;
	int error = enter("ibv_modify_wq");
	note("ibv_modify_wq.attr_mask", attributes->attr_mask);
	note("ibv_modify_wq.wq_state", attributes->wq_state);
	note("ibv_modify_wq.flags", attributes->flags);
	note("ibv_modify_wq.flags_mask", attributes->flags_mask);
	if (!error && attributes->attr_mask & IBV_WQ_ATTR_STATE) {
		struct work *work;
		ibwq->state = attributes->wq_state;
		while (ibwq->state == IBV_WQS_ERR && (work = take(&wq->receives))) {
			struct ibv_wc wc = {.wr_id = work->id, .status = IBV_WC_WR_FLUSH_ERR, .opcode = IBV_WC_RECV,
				.qp_num = ibwq->wq_num, .vendor_err = 0x77};
			complete(ibwq->cq, &wc, 0);
			discard(work);
		}
		if (ibwq->state == IBV_WQS_RESET)
			drop(&wq->receives);
	}
	return answer(error);
}

static int destroy_wq(struct ibv_wq *ibwq)
{
	struct fenced_wq *wq = (struct fenced_wq *)ibwq;
	int error = enter("ibv_destroy_wq");
	static const pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	static const pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
	if (error || wq->users)
		return answer(error ? error : EBUSY);
	if (ibwq->wq_context || ibwq->events_completed || memcmp(&ibwq->mutex, &mutex, sizeof(mutex)) ||
	    memcmp(&ibwq->cond, &cond, sizeof(cond)))
		violate("a work queue was not initialised as ibv_create_wq does it");
	forget_async(ibwq->context, ibwq);
	drop(&wq->receives);
	((struct fenced_pd *)ibwq->pd)->users--;
	((struct fenced_cq *)ibwq->cq)->users--;
	of(ibwq->context)->users--;
	unmake(WQ, wq, sizeof(*wq));
	return answer(0);
}

static struct ibv_rwq_ind_table *create_rwq_ind_table(struct ibv_context *context,
						      struct ibv_rwq_ind_table_init_attr *init)
{
	int error = enter("ibv_create_rwq_ind_table");
	keep_given("ibv_create_rwq_ind_table", init, sizeof(*init));
	if (error)
		return refuse(error);
	struct fenced_table *table = make(TABLE, sizeof(*table));
	if (!table)
		return refuse(ENOMEM);
	table->ibv.context = context;
	table->ibv.ind_tbl_handle = (int)next_handle++;
	table->count = 1 << init->log_ind_tbl_size;
	table->queues = calloc((size_t)table->count, sizeof(*table->queues));
	if (!table->queues) {
		unmake(TABLE, table, sizeof(*table));
		return refuse(ENOMEM);
	}
	for (int i = 0; i < table->count; i++) {
		table->queues[i] = (struct fenced_wq *)init->ind_tbl[i];
		table->queues[i]->users++;
	}
	of(context)->users++;
	leave();
	return &table->ibv;
}

static int destroy_rwq_ind_table(struct ibv_rwq_ind_table *ibtable)
{
	struct fenced_table *table = (struct fenced_table *)ibtable;
	int error = enter("ibv_destroy_rwq_ind_table");
	if (error || table->users)
		return answer(error ? error : EBUSY);
	for (int i = 0; i < table->count; i++)
		table->queues[i]->users--;
	free(table->queues);
	of(ibtable->context)->users--;
	unmake(TABLE, table, sizeof(*table));
	return answer(0);
}

/* --- flow rules and their counters --- */

struct fenced_flow {
	struct ibv_flow ibv;
	struct fenced_qp *qp;
};

static struct ibv_flow *create_flow(struct ibv_qp *qp, struct ibv_flow_attr *attributes)
{
	int error = enter("ibv_create_flow");
	keep_given("ibv_create_flow", attributes, attributes->size);
	if (error)
		return refuse(error);
	struct fenced_flow *flow = make(FLOW, sizeof(*flow));
	if (!flow)
		return refuse(ENOMEM);
	flow->ibv.context = qp->context;
	flow->ibv.handle = next_handle++;
	flow->qp = (struct fenced_qp *)qp;
	flow->qp->users++;
	of(qp->context)->users++;
	leave();
	return &flow->ibv;
}

static int destroy_flow(struct ibv_flow *ibflow)
{
	struct fenced_flow *flow = (struct fenced_flow *)ibflow;
	int error = enter("ibv_destroy_flow");
	if (error)
		return answer(error);
	flow->qp->users--;
	of(ibflow->context)->users--;
	unmake(FLOW, flow, sizeof(*flow));
	return answer(0);
}

static struct ibv_counters *create_counters(struct ibv_context *context, struct ibv_counters_init_attr *init)
{
	(void)init;
	int error = enter("ibv_create_counters");
	if (error)
		return refuse(error);
	struct ibv_counters *counters = make(COUNTERS, sizeof(*counters));
	if (!counters)
		return refuse(ENOMEM);
	counters->context = context;
	of(context)->users++;
	leave();
	return counters;
}

static int destroy_counters(struct ibv_counters *counters)
{
	int error = enter("ibv_destroy_counters");
	if (error)
		return answer(error);
	of(counters->context)->users--;
	unmake(COUNTERS, counters, sizeof(*counters));
	return answer(0);
}

/* --- shared receive queues of other kinds --- */

static struct ibv_srq *create_srq_ex(struct ibv_context *context, struct ibv_srq_init_attr_ex *init)
{
	int error = enter("ibv_create_srq_ex");
	(void)context;
	if (error)
		return refuse(error);
	struct fenced_srq *srq = new_srq(init->pd, &init->attr);
	if (!srq)
		return refuse(ENOMEM);
	if (init->comp_mask & IBV_SRQ_INIT_ATTR_XRCD) {
		srq->xrcd = init->xrcd;
		((struct fenced_xrcd *)srq->xrcd)->users++;
	}
	if (init->comp_mask & IBV_SRQ_INIT_ATTR_CQ) {
		srq->cq = init->cq;
		((struct fenced_cq *)srq->cq)->users++;
	}
	leave();
	return &srq->ibv;
}

static int get_srq_num(struct ibv_srq *ibsrq, uint32_t *number)
{
	struct fenced_srq *srq = (struct fenced_srq *)ibsrq;
	int error = enter("ibv_get_srq_num");
	if (!error && !srq->xrcd)
		error = EINVAL;
	if (!error)
		*number = ibsrq->handle;
	return answer(error);
}

static void release_rare(struct fenced_srq *srq)
{
	if (srq->xrcd)
		((struct fenced_xrcd *)srq->xrcd)->users--;
	if (srq->cq)
		((struct fenced_cq *)srq->cq)->users--;
}

/* --- multicast groups: as in the kernel, a group is attached once, and a queue pair in a group is busy --- */

static void keep_group(const char *function, const union ibv_gid *gid, uint16_t lid)
{
	char group[sizeof(*gid) + sizeof(lid)];
	memcpy(group, gid, sizeof(*gid));
	memcpy(group + sizeof(*gid), &lid, sizeof(lid));
	keep_given(function, group, sizeof(group));
}

static int attached_at(struct fenced_qp *qp, const union ibv_gid *gid, uint16_t lid)
{
	for (int i = 0; i < qp->attached; i++)
		if (!memcmp(&qp->groups[i].gid, gid, sizeof(*gid)) && qp->groups[i].lid == lid)
			return i;
	return -1;
}

API int ibv_attach_mcast(struct ibv_qp *ibqp, const union ibv_gid *gid, uint16_t lid)
{
	struct fenced_qp *qp = (struct fenced_qp *)ibqp;
	int error = enter("ibv_attach_mcast");
	keep_group("ibv_attach_mcast", gid, lid);
	if (!error && ibqp->qp_type != IBV_QPT_UD)
		error = EINVAL;
	if (!error && attached_at(qp, gid, lid) < 0) {
		if (qp->attached == sizeof(qp->groups) / sizeof(qp->groups[0]))
			return answer(ENOMEM);
		qp->groups[qp->attached].gid = *gid;
		qp->groups[qp->attached++].lid = lid;
	}
	return answer(error);
}

API int ibv_detach_mcast(struct ibv_qp *ibqp, const union ibv_gid *gid, uint16_t lid)
{
	struct fenced_qp *qp = (struct fenced_qp *)ibqp;
	int error = enter("ibv_detach_mcast");
	keep_group("ibv_detach_mcast", gid, lid);
	int at = error ? -1 : attached_at(qp, gid, lid);
	if (!error && at < 0)
		error = EINVAL;
	if (!error)
		qp->groups[at] = qp->groups[--qp->attached];
	return answer(error);
}
