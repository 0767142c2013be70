/*
 * The loops of the Java rows in C, with the same requests and the same checks of completions. Each returns the number
 * of wrong completions.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <infiniband/verbs.h>

#define API __attribute__((visibility("default")))
#define ALWAYS_INLINE static inline __attribute__((always_inline))
#define MOST 16
#define LENGTH 64
#define INLINED 32
#define DEPTH 128
#define SLICES 64

enum { EXTENDED_QUEUE = 1, EXTENDED_PAIR = 2, ONE_QUEUE = 4, TWO_DRIVERS = 8, INLINE = 16, THREAD_DOMAIN = 1 << 30 };

/* A part of the peer's memory. */
struct remote {
	uint64_t address;
	uint32_t key;
};

struct twin {
	struct ibv_qp *qp;
	struct ibv_qp_ex *ex;
	struct ibv_cq *sent, *received;
	struct ibv_cq_ex *sent_ex;
	uint64_t local, remote;
	uint32_t lkey, rkey;
	struct ibv_sge slices[SLICES];
	struct remote remotes[SLICES];
	struct ibv_send_wr wr[MOST];
	struct ibv_sge sge[MOST];
	struct ibv_recv_wr receive;
	struct ibv_sge receive_sge;
	struct ibv_wc wc[MOST];
	unsigned int inlined; /* the flag of requests that have their data in them, or 0 */
	struct twin *second; /* on the other device, or NULL */
};

/* Writes the fields that Java writes. Nothing is cleared: the rest is 0 from the beginning. */
static inline void fill(struct twin *t, int i, uint64_t id, uint64_t slice)
{
	struct ibv_send_wr *wr = &t->wr[i];
	t->sge[i] = t->slices[slice];
	wr->wr_id = id;
	wr->num_sge = 1;
	wr->opcode = IBV_WR_RDMA_WRITE;
	wr->send_flags = IBV_SEND_SIGNALED | t->inlined;
	wr->wr.rdma.remote_addr = t->remotes[slice].address;
	wr->wr.rdma.rkey = t->remotes[slice].key;
}

/* Returns 0, or the number of the failed step. */
static int connect_to_itself(struct twin *t, struct ibv_context *context, int gid_index)
{
	struct ibv_port_attr port;
	struct ibv_qp_attr how = {
		.qp_state = IBV_QPS_INIT, .port_num = 1,
		.qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ,
		.dest_qp_num = t->qp->qp_num, .max_dest_rd_atomic = 1, .max_rd_atomic = 1,
		.min_rnr_timer = 12, .timeout = 14, .retry_cnt = 7, .rnr_retry = 7,
		.ah_attr = { .is_global = 1, .port_num = 1, .grh = { .sgid_index = gid_index, .hop_limit = 64 } },
	};
	if (ibv_query_port(context, 1, &port) || ibv_query_gid(context, 1, gid_index, &how.ah_attr.grh.dgid))
		return 1;
	how.path_mtu = port.active_mtu;
	how.ah_attr.dlid = port.lid;
	if (ibv_modify_qp(t->qp, &how, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS))
		return 2;
	how.qp_state = IBV_QPS_RTR;
	if (ibv_modify_qp(t->qp, &how, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
			  IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER))
		return 3;
	how.qp_state = IBV_QPS_RTS;
	if (ibv_modify_qp(t->qp, &how, IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
			  IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC))
		return 4;
	return 0;
}

static struct twin *open_on(struct ibv_device *device, int kinds, int gid_index)
{
	struct twin *t = aligned_alloc(64, (sizeof(*t) + 63) & ~(size_t)63);
	struct ibv_context *context = ibv_open_device(device);
	struct ibv_pd *pd = ibv_alloc_pd(context);
	memset(t, 0, sizeof(*t));
	void *buffer = aligned_alloc(4096, 8192);
	struct ibv_mr *mr = ibv_reg_mr(pd, buffer, 8192, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
				       IBV_ACCESS_REMOTE_READ);
	t->local = (uintptr_t)buffer;
	t->remote = t->local + 4096;
	t->lkey = mr->lkey;
	t->rkey = mr->rkey;
	if (kinds & THREAD_DOMAIN) {
		struct ibv_td_init_attr none = { 0 };
		struct ibv_parent_domain_init_attr parent = { .pd = pd, .td = ibv_alloc_td(context, &none) };
		pd = parent.td ? ibv_alloc_parent_domain(context, &parent) : NULL;
		if (!pd)
			return NULL;
	}
	if (kinds & EXTENDED_QUEUE) {
		struct ibv_cq_init_attr_ex how = { .cqe = DEPTH, .wc_flags = IBV_WC_EX_WITH_BYTE_LEN };
		t->sent_ex = ibv_create_cq_ex(context, &how);
		t->sent = ibv_cq_ex_to_cq(t->sent_ex);
	} else {
		t->sent = ibv_create_cq(context, DEPTH, NULL, NULL, 0);
	}
	t->received = kinds & ONE_QUEUE ? t->sent : ibv_create_cq(context, DEPTH, NULL, NULL, 0);
	struct ibv_qp_init_attr_ex init = {
		.send_cq = t->sent, .recv_cq = t->received, .qp_type = IBV_QPT_RC, .pd = pd,
		.cap = { .max_send_wr = DEPTH, .max_recv_wr = DEPTH, .max_send_sge = 1, .max_recv_sge = 1,
			 .max_inline_data = kinds & INLINE ? INLINED : 0 },
		.comp_mask = IBV_QP_INIT_ATTR_PD | (kinds & EXTENDED_PAIR ? IBV_QP_INIT_ATTR_SEND_OPS_FLAGS : 0),
		.send_ops_flags = kinds & EXTENDED_PAIR ? IBV_QP_EX_WITH_RDMA_WRITE : 0,
	};
	t->qp = ibv_create_qp_ex(context, &init);
	t->ex = ibv_qp_to_qp_ex(t->qp);
	t->inlined = kinds & INLINE ? IBV_SEND_INLINE : 0;
	uint32_t length = kinds & INLINE ? INLINED : LENGTH;
	for (int i = 0; i < SLICES; i++) {
		t->slices[i] = (struct ibv_sge){ .addr = t->local + i * LENGTH, .length = length, .lkey = t->lkey };
		t->remotes[i] = (struct remote){ .address = t->remote + i * LENGTH, .key = t->rkey };
	}
	for (int i = 0; i < MOST; i++) {
		t->wr[i].sg_list = &t->sge[i];
		fill(t, i, i, 0);
	}
	t->receive_sge = (struct ibv_sge){ .addr = t->local, .length = LENGTH, .lkey = t->lkey };
	t->receive = (struct ibv_recv_wr){ .sg_list = &t->receive_sge, .num_sge = 1 };
	return connect_to_itself(t, context, gid_index) ? NULL : t;
}

/* kinds: bits of EXTENDED_QUEUE and so on. Returns NULL if a device can't be used. */
API struct twin *twin_open(int kinds, int gid_index)
{
	struct ibv_device **devices = ibv_get_device_list(NULL);
	struct twin *t = open_on(devices[0], kinds, gid_index);
	if (t && kinds & TWO_DRIVERS && !(t->second = open_on(devices[1], kinds, gid_index)))
		return NULL;
	return t;
}

API struct twin *twin_second(struct twin *t) { return t->second; }

static inline long take_one(struct twin *t, struct ibv_cq *cq, uint64_t id)
{
	struct ibv_wc *wc = t->wc;
	int found;
	while ((found = ibv_poll_cq(cq, 1, wc)) == 0)
		;
	return found != 1 || wc->status != IBV_WC_SUCCESS || wc->wr_id != id;
}

static inline long take_batch(struct twin *t, int size, uint64_t id)
{
	long wrong = 0;
	for (int left = size; left > 0;) {
		int found = ibv_poll_cq(t->sent, size, t->wc);
		if (found < 0)
			return 1;
		for (int i = 0; i < found; i++)
			wrong += t->wc[i].status != IBV_WC_SUCCESS || t->wc[i].wr_id != id++;
		left -= found;
	}
	return wrong;
}

/* What is new in a request that is posted: its id, or all of it, with the first piece of memory or all by turns. */
enum change { ID, ALL, ALL_BY_TURNS };

ALWAYS_INLINE long post(struct twin *t, uint64_t id, int size, enum change change)
{
	struct ibv_send_wr *bad;
	for (int i = 0; i < size; i++)
		if (change == ID)
			t->wr[i].wr_id = id + i;
		else
			fill(t, i, id + i, change == ALL ? 0 : (id + i) % SLICES);
	return ibv_post_send(t->qp, &t->wr[0], &bad) != 0;
}

ALWAYS_INLINE long take(struct twin *t, uint64_t id, int size)
{
	return size == 1 ? take_one(t, t->sent, id) : take_batch(t, size, id);
}

/* Posts requests, and polls their completions. */
ALWAYS_INLINE long turn(struct twin *t, uint64_t id, int size, enum change change)
{
	return post(t, id, size, change) + take(t, id, size);
}

static inline void link_requests(struct twin *t, int size)
{
	for (int i = 0; i + 1 < size; i++)
		t->wr[i].next = &t->wr[i + 1];
}

/* n counts work requests */
ALWAYS_INLINE long turns(struct twin *t, long n, int size, enum change change)
{
	long wrong = 0;
	link_requests(t, size);
	for (long id = 0; id < n; id += size)
		wrong += turn(t, id, size, change);
	return wrong;
}

API long twin_post_poll(struct twin *t, long n) { return turns(t, n, 1, ID); }
API long twin_rebuilt(struct twin *t, long n) { return turns(t, n, 1, ALL); }
API long twin_slices(struct twin *t, long n) { return turns(t, n, 1, ALL_BY_TURNS); }
API long twin_batch16(struct twin *t, long n) { return turns(t, n, 16, ID); }
API long twin_batch16_rebuilt(struct twin *t, long n) { return turns(t, n, 16, ALL); }
API long twin_batch16_slices(struct twin *t, long n) { return turns(t, n, 16, ALL_BY_TURNS); }

/* The same, with requests that are posted before the completion of the first of them is polled. */
API long twin_steady64(struct twin *t, long n)
{
	const long ahead = 63;
	long wrong = 0;
	for (long id = 0; id < n + ahead; id++) {
		if (id < n)
			wrong += post(t, id, 1, ID);
		if (id >= ahead)
			wrong += take(t, id - ahead, 1);
	}
	return wrong;
}

/* Posts alone, and polls alone, of requests from one id on. */
#define PHASES(name, size, change) \
	API long name##_posts(struct twin *t, long id, long n) \
	{ \
		long wrong = 0; \
		link_requests(t, size); \
		for (long end = id + n; id < end; id += size) \
			wrong += post(t, id, size, change); \
		return wrong; \
	} \
	API long name##_takes(struct twin *t, long id, long n) \
	{ \
		long wrong = 0; \
		for (long end = id + n; id < end; id += size) \
			wrong += take(t, id, size); \
		return wrong; \
	}
PHASES(twin_post_poll, 1, ID)
PHASES(twin_rebuilt, 1, ALL)
PHASES(twin_batch16, 16, ID)

/* The adapter without hardware, if it is preloaded. */
void mlx5_adapter_stop(void) __attribute__((weak));
void mlx5_adapter_start(void) __attribute__((weak));
void mlx5_adapter_step(void) __attribute__((weak));

/* Keeps the adapter from working but in steps, or lets it work. */
API void twin_hold(int held)
{
	if (held)
		mlx5_adapter_stop();
	else
		mlx5_adapter_start();
}

/* Has the adapter complete what is posted. */
API void twin_step(void) { mlx5_adapter_step(); }

API long twin_read(struct twin *t, long n)
{
	t->wr[0].opcode = IBV_WR_RDMA_READ;
	return twin_post_poll(t, n);
}

API long twin_receive(struct twin *t, long n)
{
	struct ibv_recv_wr *bad;
	long wrong = 0;
	for (long i = 0; i < n; i++) {
		t->receive.wr_id = i;
		wrong += ibv_post_recv(t->qp, &t->receive, &bad) != 0;
		wrong += take_one(t, t->received, i);
	}
	return wrong;
}

API long twin_empty(struct twin *t, long n)
{
	long wrong = 0;
	for (long i = 0; i < n; i++)
		wrong += ibv_poll_cq(t->sent, 1, t->wc);
	return wrong;
}

/* The two drivers by turns. */
ALWAYS_INLINE long both(struct twin *t, long n, enum change change)
{
	struct twin *second = t->second;
	long wrong = 0;
	for (long id = 0; id < n; id += 2)
		wrong += turn(t, id, 1, change) + turn(second, id + 1, 1, change);
	return wrong;
}

API long twin_both_post_poll(struct twin *t, long n) { return both(t, n, ID); }
API long twin_both_rebuilt(struct twin *t, long n) { return both(t, n, ALL); }

API long twin_both_empty(struct twin *t, long n)
{
	struct twin *second = t->second;
	long wrong = 0;
	for (long i = 0; i < n; i += 2)
		wrong += ibv_poll_cq(t->sent, 1, t->wc) + ibv_poll_cq(second->sent, 1, second->wc);
	return wrong;
}

/* Posted by ibv_post_send, polled by the extended functions. Reads all fields that Java's cursor offers. */
static inline long take_extended(struct twin *t, long id)
{
	struct ibv_poll_cq_attr how = { 0 };
	struct ibv_cq_ex *cq = t->sent_ex;
	while (ibv_start_poll(cq, &how))
		;
	long wrong = cq->status != IBV_WC_SUCCESS || cq->wr_id != (uint64_t)id;
	wrong += ibv_wc_read_opcode(cq) != IBV_WC_RDMA_WRITE;
	wrong += ibv_wc_read_wc_flags(cq) != 0;
	wrong += ibv_wc_read_byte_len(cq) != LENGTH;
	ibv_end_poll(cq);
	return wrong;
}

API long twin_extended_poll(struct twin *t, long n)
{
	long wrong = 0;
	for (long i = 0; i < n; i++)
		wrong += post(t, i, 1, ID) + take_extended(t, i);
	return wrong;
}

static inline long post_extended(struct twin *t, long id)
{
	struct ibv_qp_ex *qp = t->ex;
	ibv_wr_start(qp);
	qp->wr_id = id;
	qp->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_rdma_write(qp, t->rkey, t->remote);
	ibv_wr_set_sge(qp, t->lkey, t->local, LENGTH);
	return ibv_wr_complete(qp) != 0;
}

API long twin_extended_post(struct twin *t, long n)
{
	long wrong = 0;
	for (long i = 0; i < n; i++)
		wrong += post_extended(t, i) + take_one(t, t->sent, i);
	return wrong;
}

API long twin_extended_poll_posts(struct twin *t, long id, long n) { return twin_post_poll_posts(t, id, n); }

API long twin_extended_poll_takes(struct twin *t, long id, long n)
{
	long wrong = 0;
	for (long end = id + n; id < end; id++)
		wrong += take_extended(t, id);
	return wrong;
}

API long twin_extended_post_posts(struct twin *t, long id, long n)
{
	long wrong = 0;
	for (long end = id + n; id < end; id++)
		wrong += post_extended(t, id);
	return wrong;
}

API long twin_extended_post_takes(struct twin *t, long id, long n) { return twin_post_poll_takes(t, id, n); }

/* Gives bare calls from Java the addresses of objects and functions that verbs.h has inline. */
API void twin_addresses(struct twin *t, uint64_t *into)
{
	struct ibv_context *context = t->qp->context;
	const void *addresses[] = {
		t->qp, t->sent, t->received, context->ops.post_send, context->ops.post_recv, context->ops.poll_cq,
		t->slices, t->remotes,
	};
	memcpy(into, addresses, sizeof(addresses));
	into += sizeof(addresses) / sizeof(*addresses);
	if (t->ex) {
		const void *functions[] = {
			t->ex, t->ex->wr_start, t->ex->wr_rdma_write, t->ex->wr_set_sge, t->ex->wr_complete,
			&t->ex->wr_id, &t->ex->wr_flags,
		};
		memcpy(into, functions, sizeof(functions));
	}
	into += 7;
	if (t->sent_ex) {
		const void *functions[] = {
			t->sent_ex, t->sent_ex->start_poll, t->sent_ex->end_poll, t->sent_ex->read_opcode,
			t->sent_ex->read_wc_flags, t->sent_ex->read_byte_len, &t->sent_ex->status, &t->sent_ex->wr_id,
		};
		memcpy(into, functions, sizeof(functions));
	}
}

/* Makes the compiler assume that the memory is read. */
static inline void used(void *memory)
{
	__asm__ volatile("" : : "r"(memory) : "memory");
}

API long twin_copy(char *to, const char *from, long size, long n)
{
	for (long i = 0; i < n; i++) {
		memcpy(to, from, size);
		used(to);
	}
	return 0;
}

API long twin_fill(char *to, const char *from, long size, long n)
{
	(void)from;
	for (long i = 0; i < n; i++) {
		memset(to, (int)i, size);
		used(to);
	}
	return 0;
}
