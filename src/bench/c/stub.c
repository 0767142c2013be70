/*
 * A provider without a device, to measure the overhead of a binding over C. It does the work of a user-space driver:
 * posting writes a 64-byte entry into a ring and rings a doorbell; polling checks the owner bit of an entry of the
 * completion ring, finds the queue by its number and fills a struct ibv_wc. The device is a few stores at the doorbell,
 * which complete each request at once. The library is built as libibverbs.so.1, so that Verbena runs on it unchanged.
 *
 * There are two devices with drivers of their own, which do the same by different functions.
 *
 * It has neither locks nor fences: it is cheaper than any real driver, and so the overhead shows most. A real driver is
 * measured too: libmlx5, with the adapter of the folder mlx5.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <infiniband/verbs.h>

#undef ibv_query_port
#undef ibv_reg_mr

#define API __attribute__((visibility("default")))
#define ALWAYS_INLINE static inline __attribute__((always_inline))
#define ENTRY 64
#define DEEPEST 1024

enum { SIGNALED = 1u << 31, RECEIVED = 1u << 30 };

/* An entry of a work ring: 16 bytes of control, 16 for the peer's memory, two pieces of 16. */
struct piece {
	uint32_t length, key;
	uint64_t address;
};

struct entry {
	uint32_t opcode_and_index;
	uint32_t queue_and_size;
	uint32_t flags;
	uint32_t immediate;
	uint64_t remote_address;
	uint32_t remote_key;
	uint32_t reserved;
	struct piece pieces[2];
};

/* An entry of the completion ring. The device owns entries whose bit differs from that of the current turn. */
struct done {
	uint64_t header[5];
	uint32_t reserved;
	uint32_t length;
	uint32_t number;
	uint32_t index;
	uint8_t opcode;
	uint8_t status;
	uint8_t syndrome;
	volatile uint8_t owner;
};

struct stub_cq;

struct ring {
	uint32_t head; /* posted */
	uint32_t tail; /* polled */
	uint32_t mask;
	volatile uint32_t *record; /* the doorbell record */
	volatile uint64_t *doorbell;
	struct entry *entries;
	uint64_t *ids;
	uint32_t number;
	struct stub_cq *cq;
};

struct stub_cq {
	struct ibv_cq_ex ex; /* begins like a struct ibv_cq */
	uint32_t consumed;
	uint32_t mask;
	struct done *entries;
	struct done *current;
	struct stub_qp *last; /* the queue pair of the last completion, usually also of the next */
	volatile uint32_t *record;
	uint32_t produced; /* the device's side */
};

struct stub_qp {
	struct ibv_qp_ex ex;
	struct ring sends, receives;
	struct ibv_qp_cap capabilities;
	uint32_t began; /* ibv_wr_start */
	struct entry *current;
	int error;
};

static void *lines(size_t size)
{
	void *memory = aligned_alloc(64, (size + 63) & ~(size_t)63);
	if (memory)
		memset(memory, 0, size);
	return memory;
}

#define QUEUES 1024
static struct stub_qp *queues[QUEUES];

static void make_ring(struct ring *ring, uint32_t depth, uint32_t number, struct ibv_cq *cq)
{
	uint32_t size = 64;
	while (size < depth)
		size *= 2;
	ring->mask = size - 1;
	ring->entries = lines((size_t)size * ENTRY);
	ring->ids = lines((size_t)size * sizeof(uint64_t));
	ring->record = lines(64);
	ring->doorbell = lines(256);
	ring->number = number;
	ring->cq = (struct stub_cq *)cq;
}

static void free_ring(struct ring *ring)
{
	free(ring->entries);
	free(ring->ids);
	free((void *)ring->record);
	free((void *)ring->doorbell);
}

/* --- the data path --- */

/* The device: completes the posted requests that ask for a completion. */
static inline void work(struct ring *ring, uint32_t from, uint32_t to)
{
	static const uint8_t opcodes[] = {
		[IBV_WR_RDMA_WRITE] = IBV_WC_RDMA_WRITE, [IBV_WR_RDMA_WRITE_WITH_IMM] = IBV_WC_RDMA_WRITE,
		[IBV_WR_SEND] = IBV_WC_SEND, [IBV_WR_SEND_WITH_IMM] = IBV_WC_SEND,
		[IBV_WR_RDMA_READ] = IBV_WC_RDMA_READ,
	};
	struct stub_cq *cq = ring->cq;
	for (; from != to; from++) {
		struct entry *entry = &ring->entries[from & ring->mask];
		if (!(entry->flags & SIGNALED))
			continue;
		struct done *done = &cq->entries[cq->produced & cq->mask];
		done->length = entry->pieces[0].length;
		done->number = ring->number;
		done->index = from;
		done->opcode = entry->flags & RECEIVED ? (uint8_t)IBV_WC_RECV : opcodes[entry->opcode_and_index & 7];
		done->status = IBV_WC_SUCCESS;
		done->owner = cq->produced & (cq->mask + 1) ? 1 : 0;
		cq->produced++;
	}
}

static inline void ring_doorbell(struct ring *ring, uint32_t from, uint32_t head)
{
	ring->head = head;
	atomic_signal_fence(memory_order_seq_cst);
	*ring->record = head;
	volatile uint64_t *last = (volatile uint64_t *)&ring->entries[(head - 1) & ring->mask];
	*ring->doorbell = *last;
	work(ring, from, head);
}

static inline int put_pieces(struct entry *entry, const struct ibv_sge *list, int count)
{
	if (count > 2)
		return EINVAL;
	for (int i = 0; i < count; i++) {
		entry->pieces[i].length = list[i].length;
		entry->pieces[i].key = list[i].lkey;
		entry->pieces[i].address = list[i].addr;
	}
	return 0;
}

static inline void put_control(struct ring *ring, struct entry *entry, uint32_t index, uint32_t opcode, uint32_t flags,
			       uint32_t size)
{
	entry->opcode_and_index = index << 8 | opcode;
	entry->queue_and_size = ring->number << 8 | size;
	entry->flags = flags & IBV_SEND_SIGNALED ? SIGNALED : 0;
}

ALWAYS_INLINE int post_send(struct ibv_qp *ibqp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	struct stub_qp *qp = (struct stub_qp *)ibqp;
	struct ring *ring = &qp->sends;
	int error = 0;

	uint32_t head = ring->head;
	for (; wr; wr = wr->next) {
		if (head - ring->tail > ring->mask) {
			error = ENOMEM;
			*bad = wr;
			break;
		}
		struct entry *entry = &ring->entries[head & ring->mask];
		put_control(ring, entry, head, wr->opcode, wr->send_flags, 2 + wr->num_sge);
		switch (wr->opcode) {
		case IBV_WR_RDMA_WRITE_WITH_IMM:
			entry->immediate = wr->imm_data;
			/* fall through */
		case IBV_WR_RDMA_WRITE:
		case IBV_WR_RDMA_READ:
			entry->remote_address = wr->wr.rdma.remote_addr;
			entry->remote_key = wr->wr.rdma.rkey;
			break;
		case IBV_WR_SEND_WITH_IMM:
			entry->immediate = wr->imm_data;
			break;
		case IBV_WR_SEND:
			break;
		default:
			error = EOPNOTSUPP;
		}
		if (!error)
			error = put_pieces(entry, wr->sg_list, wr->num_sge);
		if (error) {
			*bad = wr;
			break;
		}
		ring->ids[head & ring->mask] = wr->wr_id;
		head++;
	}
	if (head != ring->head)
		ring_doorbell(ring, ring->head, head);
	return error;
}

ALWAYS_INLINE int post_recv(struct ibv_qp *ibqp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	struct stub_qp *qp = (struct stub_qp *)ibqp;
	struct ring *ring = &qp->receives;
	int error = 0;

	uint32_t head = ring->head;
	for (; wr; wr = wr->next) {
		if (head - ring->tail > ring->mask) {
			error = ENOMEM;
			*bad = wr;
			break;
		}
		struct entry *entry = &ring->entries[head & ring->mask];
		entry->flags = SIGNALED | RECEIVED;
		error = put_pieces(entry, wr->sg_list, wr->num_sge);
		if (error) {
			*bad = wr;
			break;
		}
		ring->ids[head & ring->mask] = wr->wr_id;
		head++;
	}
	uint32_t from = ring->head;
	ring->head = head;
	atomic_signal_fence(memory_order_seq_cst);
	*ring->record = head; /* receives have a record only, no doorbell */
	work(ring, from, head);
	return error;
}

/* Returns the next completion or NULL, and frees the entries of its queue up to it. */
static inline struct done *completed(struct stub_cq *cq, struct ring **ring)
{
	struct done *done = &cq->entries[cq->consumed & cq->mask];
	if (done->owner != (cq->consumed & (cq->mask + 1) ? 1 : 0))
		return NULL;
	atomic_thread_fence(memory_order_acquire);
	struct stub_qp *qp = cq->last;
	if (!qp || qp->ex.qp_base.qp_num != done->number)
		cq->last = qp = queues[done->number % QUEUES];
	*ring = done->opcode & (uint8_t)IBV_WC_RECV ? &qp->receives : &qp->sends;
	(*ring)->tail = done->index + 1;
	cq->consumed++;
	return done;
}

ALWAYS_INLINE int poll_cq(struct ibv_cq *ibcq, int most, struct ibv_wc *wc)
{
	struct stub_cq *cq = (struct stub_cq *)ibcq;
	struct ring *ring;
	struct done *done;
	int found = 0;

	while (found < most && (done = completed(cq, &ring))) {
		wc->wr_id = ring->ids[done->index & ring->mask];
		wc->status = done->status;
		wc->opcode = done->opcode;
		wc->vendor_err = done->syndrome;
		wc->byte_len = done->length;
		wc->imm_data = 0;
		wc->qp_num = ring->number;
		wc->src_qp = 0;
		wc->wc_flags = 0;
		wc->pkey_index = 0;
		wc->slid = 0;
		wc->sl = 0;
		wc->dlid_path_bits = 0;
		wc++;
		found++;
	}
	if (found)
		*cq->record = cq->consumed;
	return found;
}

static int req_notify_cq(struct ibv_cq *cq, int solicited)
{
	(void)cq, (void)solicited;
	return 0;
}

/* Functions of a driver. Without the attribute, gcc makes one of functions that do the same. */
#define OF_DRIVER(number, result, name, parameters, arguments) \
	static __attribute__((no_icf)) result name##_of_##number parameters { return name arguments; }
#define DRIVER(number) \
	OF_DRIVER(number, int, post_send, (struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad), (qp, wr, bad)) \
	OF_DRIVER(number, int, post_recv, (struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad), (qp, wr, bad)) \
	OF_DRIVER(number, int, poll_cq, (struct ibv_cq *cq, int most, struct ibv_wc *wc), (cq, most, wc))
#define OPERATIONS(number) { \
	.post_send = post_send_of_##number, .post_recv = post_recv_of_##number, .poll_cq = poll_cq_of_##number, \
	.req_notify_cq = req_notify_cq, \
}
DRIVER(0)
DRIVER(1)

/* --- the data path of extended queues --- */

static inline int stand(struct stub_cq *cq)
{
	struct ring *ring;
	struct done *done = completed(cq, &ring);
	if (!done)
		return ENOENT;
	cq->current = done;
	cq->ex.wr_id = ring->ids[done->index & ring->mask];
	cq->ex.status = done->status;
	return 0;
}

static int start_poll(struct ibv_cq_ex *ex, struct ibv_poll_cq_attr *attributes)
{
	struct stub_cq *cq = (struct stub_cq *)ex;
	(void)attributes;
	return stand(cq);
}

static int next_poll(struct ibv_cq_ex *ex)
{
	return stand((struct stub_cq *)ex);
}

static void end_poll(struct ibv_cq_ex *ex)
{
	struct stub_cq *cq = (struct stub_cq *)ex;
	*cq->record = cq->consumed;
}

static enum ibv_wc_opcode read_opcode(struct ibv_cq_ex *ex)
{
	return ((struct stub_cq *)ex)->current->opcode;
}

static uint32_t read_length(struct ibv_cq_ex *ex)
{
	return ((struct stub_cq *)ex)->current->length;
}

static uint32_t read_number(struct ibv_cq_ex *ex)
{
	return ((struct stub_cq *)ex)->current->number;
}

static uint32_t read_nothing(struct ibv_cq_ex *ex)
{
	(void)ex;
	return 0;
}

static void wr_start(struct ibv_qp_ex *ex)
{
	struct stub_qp *qp = (struct stub_qp *)ex;
	qp->began = qp->sends.head;
	qp->error = 0;
}

static inline struct entry *wr_begin(struct stub_qp *qp, uint32_t opcode)
{
	struct ring *ring = &qp->sends;
	if (ring->head - ring->tail > ring->mask) {
		qp->error = ENOMEM;
		return qp->current = &ring->entries[ring->head & ring->mask];
	}
	struct entry *entry = &ring->entries[ring->head & ring->mask];
	put_control(ring, entry, ring->head, opcode, qp->ex.wr_flags, 3);
	ring->ids[ring->head & ring->mask] = qp->ex.wr_id;
	return qp->current = entry;
}

static void wr_rdma_write(struct ibv_qp_ex *ex, uint32_t key, uint64_t address)
{
	struct entry *entry = wr_begin((struct stub_qp *)ex, IBV_WR_RDMA_WRITE);
	entry->remote_address = address;
	entry->remote_key = key;
}

static void wr_rdma_read(struct ibv_qp_ex *ex, uint32_t key, uint64_t address)
{
	struct entry *entry = wr_begin((struct stub_qp *)ex, IBV_WR_RDMA_READ);
	entry->remote_address = address;
	entry->remote_key = key;
}

static void wr_send(struct ibv_qp_ex *ex)
{
	wr_begin((struct stub_qp *)ex, IBV_WR_SEND);
}

static void wr_set_sge(struct ibv_qp_ex *ex, uint32_t key, uint64_t address, uint32_t length)
{
	struct stub_qp *qp = (struct stub_qp *)ex;
	struct piece *piece = qp->current->pieces;
	piece->length = length;
	piece->key = key;
	piece->address = address;
	qp->sends.head += !qp->error;
}

static void wr_set_sge_list(struct ibv_qp_ex *ex, size_t count, const struct ibv_sge *list)
{
	struct stub_qp *qp = (struct stub_qp *)ex;
	int error = put_pieces(qp->current, list, (int)count);
	qp->error = error ? error : qp->error;
	qp->sends.head += !qp->error;
}

static void wr_abort(struct ibv_qp_ex *ex)
{
	struct stub_qp *qp = (struct stub_qp *)ex;
	qp->sends.head = qp->began;
}

static int wr_complete(struct ibv_qp_ex *ex)
{
	struct stub_qp *qp = (struct stub_qp *)ex;
	if (qp->error) {
		wr_abort(ex);
		return qp->error;
	}
	ring_doorbell(&qp->sends, qp->began, qp->sends.head);
	return 0;
}

/* --- the control path --- */

/* The folder has a driver, as that of an adapter has. */
#define DEVICE(number) { \
	.node_type = IBV_NODE_CA, .transport_type = IBV_TRANSPORT_IB, .name = "stub" #number, \
	.dev_name = "uverbs" #number, .ibdev_path = FOLDER, \
}
static struct ibv_device all_devices[] = { DEVICE(0), DEVICE(1) };
static struct ibv_device *devices[] = { &all_devices[0], &all_devices[1], NULL };
static const struct ibv_context_ops operations[] = { OPERATIONS(0), OPERATIONS(1) };
static uint32_t numbers = 16;

API struct ibv_device **ibv_get_device_list(int *count)
{
	if (count)
		*count = 2;
	return devices;
}

API void ibv_free_device_list(struct ibv_device **list) { (void)list; }

API const char *ibv_get_device_name(struct ibv_device *which) { return which->name; }

API int ibv_get_device_index(struct ibv_device *which) { return (int)(which - all_devices); }

API __be64 ibv_get_device_guid(struct ibv_device *which)
{
	return (__be64)(ibv_get_device_index(which) + 1) << 56;
}

API int ibv_query_device(struct ibv_context *context, struct ibv_device_attr *attributes)
{
	(void)context;
	memset(attributes, 0, sizeof(*attributes));
	attributes->max_qp = attributes->max_cq = attributes->max_mr = attributes->max_pd = 1 << 16;
	attributes->max_qp_wr = DEEPEST;
	attributes->max_sge = 2;
	attributes->max_cqe = 1 << 16;
	attributes->max_mr_size = UINT64_MAX;
	attributes->page_size_cap = 4096;
	attributes->max_qp_rd_atom = attributes->max_qp_init_rd_atom = 16;
	attributes->phys_port_cnt = 1;
	return 0;
}

static int query_port(struct ibv_context *context, uint8_t number, struct ibv_port_attr *port, size_t size)
{
	struct ibv_port_attr it = {
		.state = IBV_PORT_ACTIVE, .max_mtu = IBV_MTU_4096, .active_mtu = IBV_MTU_4096, .gid_tbl_len = 1,
		.max_msg_sz = 1u << 31, .pkey_tbl_len = 1, .lid = 1, .max_vl_num = 1, .active_width = 2,
		.active_speed = 64, .phys_state = 5, .link_layer = IBV_LINK_LAYER_INFINIBAND,
	};
	(void)context;
	if (number != 1)
		return EINVAL;
	memcpy(port, &it, size < sizeof(it) ? size : sizeof(it));
	return 0;
}

API int ibv_query_port(struct ibv_context *context, uint8_t number, struct _compat_ibv_port_attr *port)
{
	return query_port(context, number, (struct ibv_port_attr *)port, offsetof(struct ibv_port_attr, port_cap_flags2));
}

API int ibv_query_gid(struct ibv_context *context, uint8_t port, int index, union ibv_gid *gid)
{
	(void)context, (void)port;
	if (index)
		return EINVAL;
	memset(gid, 0, sizeof(*gid));
	gid->raw[0] = 0xfe;
	gid->raw[1] = 0x80;
	gid->raw[15] = 1;
	return 0;
}

API ssize_t _ibv_query_gid_table(struct ibv_context *context, struct ibv_gid_entry *entries, size_t most,
				 uint32_t flags, size_t size)
{
	(void)flags;
	if (most < 1)
		return -EINVAL;
	memset(entries, 0, size);
	entries->port_num = 1;
	ibv_query_gid(context, 1, 0, &entries->gid);
	return 1;
}

API struct ibv_pd *ibv_alloc_pd(struct ibv_context *context)
{
	struct ibv_pd *pd = lines(sizeof(*pd));
	pd->context = context;
	return pd;
}

API int ibv_dealloc_pd(struct ibv_pd *pd)
{
	free(pd);
	return 0;
}

API struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *start, size_t length, uint64_t iova, unsigned int access)
{
	struct ibv_mr *mr = lines(sizeof(*mr));
	(void)iova, (void)access;
	mr->context = pd->context;
	mr->pd = pd;
	mr->addr = start;
	mr->length = length;
	mr->lkey = mr->rkey = numbers++ << 8;
	return mr;
}

API struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *start, size_t length, int access)
{
	return ibv_reg_mr_iova2(pd, start, length, (uintptr_t)start, access);
}

API int ibv_dereg_mr(struct ibv_mr *mr)
{
	free(mr);
	return 0;
}

static struct ibv_cq_ex *create_cq_ex(struct ibv_context *context, struct ibv_cq_init_attr_ex *init)
{
	struct stub_cq *cq = lines(sizeof(*cq));
	uint32_t size = 64;
	while (size < init->cqe)
		size *= 2;
	cq->mask = size - 1;
	cq->entries = lines((size_t)size * sizeof(struct done));
	for (uint32_t i = 0; i < size; i++)
		cq->entries[i].owner = 1;
	cq->ex.context = context;
	cq->ex.channel = init->channel;
	cq->ex.cq_context = init->cq_context;
	cq->ex.cqe = (int)cq->mask;
	cq->ex.start_poll = start_poll;
	cq->ex.next_poll = next_poll;
	cq->ex.end_poll = end_poll;
	cq->ex.read_opcode = read_opcode;
	cq->ex.read_vendor_err = read_nothing;
	cq->ex.read_wc_flags = read_nothing;
	cq->ex.read_byte_len = read_length;
	cq->ex.read_qp_num = read_number;
	cq->ex.read_imm_data = read_nothing;
	cq->ex.read_src_qp = read_nothing;
	cq->record = lines(64);
	return &cq->ex;
}

API struct ibv_cq *ibv_create_cq(struct ibv_context *context, int size, void *user, struct ibv_comp_channel *channel,
				 int vector)
{
	struct ibv_cq_init_attr_ex init = {
		.cqe = size, .cq_context = user, .channel = channel, .comp_vector = vector,
	};
	return ibv_cq_ex_to_cq(create_cq_ex(context, &init));
}

API int ibv_destroy_cq(struct ibv_cq *cq)
{
	free((void *)((struct stub_cq *)cq)->record);
	free(((struct stub_cq *)cq)->entries);
	free(cq);
	return 0;
}

static struct ibv_qp *create_qp_ex(struct ibv_context *context, struct ibv_qp_init_attr_ex *init)
{
	struct stub_qp *qp = lines(sizeof(*qp));
	struct ibv_qp *base = &qp->ex.qp_base;
	base->context = context;
	base->pd = init->pd;
	base->send_cq = init->send_cq;
	base->recv_cq = init->recv_cq;
	base->qp_type = init->qp_type;
	base->qp_num = numbers++;
	queues[base->qp_num % QUEUES] = qp;
	make_ring(&qp->sends, init->cap.max_send_wr, base->qp_num, init->send_cq);
	make_ring(&qp->receives, init->cap.max_recv_wr, base->qp_num, init->recv_cq);
	init->cap.max_send_wr = qp->sends.mask + 1;
	init->cap.max_recv_wr = qp->receives.mask + 1;
	init->cap.max_send_sge = init->cap.max_recv_sge = 2;
	init->cap.max_inline_data = 0;
	qp->capabilities = init->cap;
	qp->ex.wr_start = wr_start;
	qp->ex.wr_complete = wr_complete;
	qp->ex.wr_abort = wr_abort;
	qp->ex.wr_rdma_write = wr_rdma_write;
	qp->ex.wr_rdma_read = wr_rdma_read;
	qp->ex.wr_send = wr_send;
	qp->ex.wr_set_sge = wr_set_sge;
	qp->ex.wr_set_sge_list = wr_set_sge_list;
	return base;
}

API struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *init)
{
	struct ibv_qp_init_attr_ex ex = {
		.send_cq = init->send_cq, .recv_cq = init->recv_cq, .cap = init->cap, .qp_type = init->qp_type, .pd = pd,
	};
	struct ibv_qp *qp = create_qp_ex(pd->context, &ex);
	init->cap = ex.cap;
	return qp;
}

API struct ibv_qp_ex *ibv_qp_to_qp_ex(struct ibv_qp *qp) { return (struct ibv_qp_ex *)qp; }

API int ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attributes, int mask)
{
	if (mask & IBV_QP_STATE)
		qp->state = attributes->qp_state;
	return 0;
}

API int ibv_query_qp(struct ibv_qp *qp, struct ibv_qp_attr *attributes, int mask, struct ibv_qp_init_attr *init)
{
	(void)mask;
	memset(attributes, 0, sizeof(*attributes));
	memset(init, 0, sizeof(*init));
	attributes->qp_state = qp->state;
	attributes->cap = init->cap = ((struct stub_qp *)qp)->capabilities;
	init->send_cq = qp->send_cq;
	init->recv_cq = qp->recv_cq;
	init->qp_type = qp->qp_type;
	return 0;
}

API int ibv_destroy_qp(struct ibv_qp *base)
{
	struct stub_qp *qp = (struct stub_qp *)base;
	queues[base->qp_num % QUEUES] = NULL;
	if (base->send_cq)
		((struct stub_cq *)base->send_cq)->last = NULL;
	if (base->recv_cq)
		((struct stub_cq *)base->recv_cq)->last = NULL;
	free_ring(&qp->sends);
	free_ring(&qp->receives);
	free(qp);
	return 0;
}

API struct ibv_context *ibv_open_device(struct ibv_device *which)
{
	struct verbs_context *all = lines(sizeof(*all));
	struct ibv_context *context = &all->context;
	all->sz = sizeof(*all);
	all->query_port = query_port;
	all->create_cq_ex = create_cq_ex;
	all->create_qp_ex = create_qp_ex;
	context->device = which;
	context->ops = operations[ibv_get_device_index(which)];
	context->cmd_fd = -1;
	context->async_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	context->num_comp_vectors = 1;
	pthread_mutex_init(&context->mutex, NULL);
	context->abi_compat = (void *)-1; /* part of a struct verbs_context */
	return context;
}

/* A program that polls for a second looks whether the device has reported anything. */
API int ibv_get_async_event(struct ibv_context *context, struct ibv_async_event *event)
{
	(void)context;
	(void)event;
	errno = EAGAIN;
	return -1;
}

API void ibv_ack_async_event(struct ibv_async_event *event) { (void)event; }

API int ibv_close_device(struct ibv_context *context)
{
	close(context->async_fd);
	free((char *)context - offsetof(struct verbs_context, context));
	return 0;
}
