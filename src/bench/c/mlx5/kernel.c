/*
 * The kernel's part of the adapter, under LD_PRELOAD: a folder like that of sysfs below SYSFS_PATH, the device file
 * /dev/infiniband/uverbs0, and the commands that libibverbs and libmlx5 write to it. Commands by ioctl are answered as by
 * a kernel that is too old for them, but for those of doorbell pages, which have no other form. The descriptor is that of
 * memory without a name, so that doorbell pages can be mapped, and no call to mmap is changed.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <infiniband/verbs.h>
#include <rdma/mlx5-abi.h>
#include <rdma/mlx5_user_ioctl_cmds.h>
#include <rdma/rdma_user_ioctl_cmds.h>

#include "mlx5.h"

#define API __attribute__((visibility("default")))
#define DEVICE "/dev/infiniband/uverbs0"
#define PAGE 4096
#define DESCRIPTORS 65536
#define MOST_COMPLETIONS ((1 << 22) - 1)

pid_t self;
static bool is_context[DESCRIPTORS];
static int writers[DESCRIPTORS]; /* of the pipes whose other ends are given out */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static atomic_uint pages, domains;

static bool is_ours(int descriptor)
{
	return descriptor >= 0 && descriptor < DESCRIPTORS && is_context[descriptor];
}

/* Defines a function that returns that of the C library. */
#define REAL(result, name, ...) \
	static result (*real_##name(void))(__VA_ARGS__) \
	{ \
		static result (*real)(__VA_ARGS__); \
		if (!real) \
			real = (result(*)(__VA_ARGS__))dlsym(RTLD_NEXT, #name); \
		return real; \
	}
REAL(int, open, const char *, int, ...)
REAL(int, stat, const char *, struct stat *)
REAL(int, fstat, int, struct stat *)
REAL(int, ioctl, int, unsigned long, ...)
REAL(int, close, int)
REAL(ssize_t, write, int, const void *, size_t)

/* --- the folder, and the file of objects --- */

static void put(const char *name, const char *text)
{
	char path[PATH_MAX], *slash;
	int length = snprintf(path, sizeof(path), "%s/class/%s", getenv("SYSFS_PATH"), name);
	if (length >= (int)sizeof(path))
		abort();
	for (slash = path + 1; (slash = strchr(slash, '/')); slash++) {
		*slash = 0;
		mkdir(path, 0777);
		*slash = '/';
	}
	FILE *file = fopen(path, "wx");
	if (file) { /* or another process made it */
		fprintf(file, "%s\n", text);
		fclose(file);
	}
}

static void make_folder(void)
{
	static const char *const modalias = "pci:v000015B3d00001017sv000015B3sd00000001bc02sc00i00"; /* ConnectX-5 */
	char driver[PATH_MAX];
	put("infiniband_verbs/abi_version", "6");
	put("infiniband_verbs/uverbs0/ibdev", "mlx5_0");
	put("infiniband_verbs/uverbs0/abi_version", "1");
	put("infiniband_verbs/uverbs0/dev", "231:192");
	put("infiniband_verbs/uverbs0/device/modalias", modalias);
	put("infiniband/mlx5_0/node_type", "1: CA");
	put("infiniband/mlx5_0/node_guid", "0002:c903:0000:0001");
	put("infiniband/mlx5_0/fw_ver", "16.35.2000");
	put("infiniband/mlx5_0/board_id", "played without hardware");
	put("infiniband/mlx5_0/device/modalias", modalias);
	put("infiniband/mlx5_0/ports/1/gids/0", "fe80:0000:0000:0000:0002:c903:0000:0001");
	put("infiniband/mlx5_0/ports/1/gid_attrs/types/0", "IB/RoCE v1");
	put("infiniband/mlx5_0/ports/1/pkeys/0", "0xffff");
	snprintf(driver, sizeof(driver), "%s/class/infiniband/mlx5_0/device/driver", getenv("SYSFS_PATH"));
	if (symlink("/sys/bus/pci/drivers/mlx5_core", driver) < 0 && errno != EEXIST)
		abort();
}

/* Removes the objects of processes that are gone. */
#define SWEEP(objects, count) \
	for (int i = 0; i < (count); i++) { \
		pid_t process = FABRIC->objects[i].owner.process; \
		if (process && (process == self || (kill(process, 0) < 0 && errno == ESRCH))) \
			FABRIC->objects[i].owner.process = 0; \
	}

static void begin(void)
{
	char path[PATH_MAX];
	self = getpid();
	prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0); /* adapters of other processes write to this one's memory */
	snprintf(path, sizeof(path), "%s/objects", getenv("SYSFS_PATH"));
	int file = real_open()(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
	if (file < 0 || ftruncate(file, sizeof(struct fabric)) < 0 ||
	    mmap(FABRIC, sizeof(struct fabric), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED_NOREPLACE, file, 0) !=
		    FABRIC) {
		perror(path);
		abort();
	}
	real_close()(file);
	SWEEP(regions, REGIONS)
	SWEEP(rings, RINGS)
	SWEEP(shared_rings, SHARED_RINGS)
	SWEEP(queues, QUEUES)
}

__attribute__((constructor)) static void load(void)
{
	if (getenv("SYSFS_PATH"))
		make_folder();
}

/* --- objects --- */

/* Takes a free object and clears it, but for its owner. Returns NULL if there is none. */
#define TAKE(objects, count, context) ({ \
	typeof(&FABRIC->objects[0]) found = NULL; \
	for (int i = 0; i < (count) && !found; i++) { \
		pid_t nobody = 0; \
		if (atomic_compare_exchange_strong(&FABRIC->objects[i].owner.process, &nobody, -1)) \
			found = &FABRIC->objects[i]; \
	} \
	if (found) { \
		memset((char *)found + sizeof(found->owner), 0, sizeof(*found) - sizeof(found->owner)); \
		found->owner.context = (context); \
	} \
	found; \
})

/* Makes an object visible, or takes it away, while this process's adapter does nothing. */
static void show(struct owner *owner, bool shown)
{
	adapter_hold();
	owner->process = shown ? self : 0;
	adapter_release();
}

/* Returns an object of this process by its handle, or NULL. */
#define FIND(objects, count, handle) \
	((handle) < (count) && FABRIC->objects[handle].owner.process == self ? &FABRIC->objects[handle] : NULL)

#define FREE_ALL(objects, count, of) \
	for (int i = 0; i < (count); i++) \
		if (FABRIC->objects[i].owner.process == self && FABRIC->objects[i].owner.context == (of)) \
			show(&FABRIC->objects[i].owner, false);

/* Returns the end of a new pipe to write to, and sets the one to read from. */
static int make_channel(uint32_t *reader)
{
	int ends[2];
	if (pipe2(ends, O_CLOEXEC) < 0)
		return -1;
	*reader = ends[0];
	return ends[1];
}

void raise_event(int context, uint64_t element, uint32_t type)
{
	struct ib_uverbs_async_event_desc event = { .element = element, .event_type = type };
	if (real_write()(writers[context], &event, sizeof(event)) < 0)
		abort();
}

/* --- commands: each has its request and its response, and returns an error number --- */

static int get_context(int context, struct ib_uverbs_get_context_resp *made)
{
	struct mlx5_ib_alloc_ucontext_resp *adapter = (void *)made->driver_data;
	writers[context] = make_channel(&made->async_fd);
	made->num_comp_vectors = 1;
	*adapter = (struct mlx5_ib_alloc_ucontext_resp){
		.qp_tab_size = 1 << 18, .bf_reg_size = 512, .cache_line_size = 64, .max_sq_desc_sz = 1024,
		.max_rq_desc_sz = 512, .max_send_wqebb = 32768, .max_recv_wr = 32768, .max_srq_recv_wr = 32767,
		.num_ports = 1, .response_length = sizeof(*adapter), .cqe_version = 1,
		.cmds_supp_uhw = MLX5_USER_CMDS_SUPP_UHW_QUERY_DEVICE, .eth_min_inline = MLX5_USER_INLINE_MODE_NONE,
		.log_uar_size = 12, .num_uars_per_page = 1,
	};
	return writers[context] < 0 ? errno : 0;
}

static int query_device(struct ib_uverbs_query_device_resp *is)
{
	*is = (struct ib_uverbs_query_device_resp){
		.fw_ver = 16ull << 32 | 35 << 16 | 2000, .node_guid = htobe64(0x0002c90300000001),
		.sys_image_guid = htobe64(0x0002c90300000001), .max_mr_size = UINT64_MAX, .page_size_cap = 0xfffffffffffff000,
		.vendor_id = 0x2c9, .vendor_part_id = 4119, .max_qp = QUEUES, .max_qp_wr = 8192, .max_sge = 30,
		.max_sge_rd = 30, .max_cq = RINGS, .max_cqe = MOST_COMPLETIONS, .max_mr = REGIONS, .max_pd = 1 << 16,
		.max_qp_rd_atom = 16, .max_res_rd_atom = 1 << 14, .max_qp_init_rd_atom = 16, .atomic_cap = IBV_ATOMIC_HCA,
		.max_ah = INT32_MAX, .max_srq = SHARED_RINGS, .max_srq_wr = 16383, .max_srq_sge = 30, .max_pkeys = 1,
		.local_ca_ack_delay = 16, .phys_port_cnt = 1,
	};
	return 0;
}

static int query_port(const struct ib_uverbs_query_port *asked, struct ib_uverbs_query_port_resp *is)
{
	*is = (struct ib_uverbs_query_port_resp){
		.max_msg_sz = 1u << 30, .gid_tbl_len = 1, .pkey_tbl_len = 1, .lid = 1, .sm_lid = 1, .state = IBV_PORT_ACTIVE,
		.max_mtu = IBV_MTU_4096, .active_mtu = IBV_MTU_4096, .max_vl_num = 1, .active_width = 2, .active_speed = 32,
		.phys_state = 5, .link_layer = IBV_LINK_LAYER_INFINIBAND,
	};
	return asked->port_num == 1 ? 0 : EINVAL;
}

static int register_region(int context, const struct ib_uverbs_reg_mr *wanted, struct ib_uverbs_reg_mr_resp *made)
{
	uint32_t known = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
			 IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_OPTIONAL_RANGE;
	if (wanted->access_flags & ~known)
		return EOPNOTSUPP;
	struct region *region = TAKE(regions, REGIONS, context);
	if (!region)
		return ENOMEM;
	uint32_t handle = region - FABRIC->regions;
	region->key = handle << 8 | (FABRIC->keys++ & 0xff);
	region->domain = wanted->pd_handle;
	region->access = wanted->access_flags;
	region->start = wanted->start;
	region->length = wanted->length;
	region->virtual = wanted->hca_va;
	show(&region->owner, true);
	made->mr_handle = handle;
	made->lkey = made->rkey = region->key;
	return 0;
}

static int create_ring(int context, const struct ib_uverbs_create_cq *wanted, struct ib_uverbs_create_cq_resp *made)
{
	const struct mlx5_ib_create_cq *adapter = (const void *)wanted->driver_data;
	struct mlx5_ib_create_cq_resp *answer = (void *)made->driver_data;
	struct ring *ring = NULL;
	if (adapter->cqe_size != 64 || wanted->cqe > MOST_COMPLETIONS || wanted->comp_vector > 0)
		return EINVAL;
	ring = TAKE(rings, RINGS, context);
	if (!ring)
		return ENOMEM;
	ring->entries = adapter->buf_addr;
	ring->record = adapter->db_addr;
	ring->handle = wanted->user_handle;
	ring->size = wanted->cqe + 1;
	ring->reader = wanted->comp_channel;
	ring->channel = ring->reader < 0 ? -1 : writers[ring->reader];
	ring->answered = UINT32_MAX;
	*(uint32_t *)(ring->record + 4) = ring->answered; /* no event is asked for: libmlx5 has set it to a request */
	show(&ring->owner, true);
	made->cq_handle = answer->cqn = ring - FABRIC->rings;
	made->cqe = wanted->cqe;
	return 0;
}

/* Takes back the events of a queue that nobody has read, as destroying the queue does. */
static void take_back(struct ring *ring)
{
	int waiting = 0;
	uint64_t handle;
	if (ring->reader < 0 || real_ioctl()(ring->reader, FIONREAD, &waiting) < 0)
		return;
	for (; waiting >= (int)sizeof(handle); waiting -= sizeof(handle)) {
		if (read(ring->reader, &handle, sizeof(handle)) != sizeof(handle))
			return; /* somebody else has read it */
		if (handle == ring->handle)
			ring->events--;
		else if (real_write()(ring->channel, &handle, sizeof(handle)) < 0)
			abort();
	}
}

static int destroy_ring(const struct ib_uverbs_destroy_cq *which, struct ib_uverbs_destroy_cq_resp *left)
{
	struct ring *ring = FIND(rings, RINGS, which->cq_handle);
	if (!ring)
		return EINVAL;
	for (int i = 0; i < QUEUES; i++) {
		struct queue *queue = &FABRIC->queues[i];
		if (queue->owner.process == self && (queue->sent == ring || queue->received == ring))
			return EBUSY;
	}
	show(&ring->owner, false);
	take_back(ring);
	left->comp_events_reported = ring->events;
	left->async_events_reported = 0;
	return 0;
}

static int create_shared_ring(int context, const struct ib_uverbs_create_srq *wanted, struct ib_uverbs_create_srq_resp *made)
{
	const struct mlx5_ib_create_srq *adapter = (const void *)wanted->driver_data;
	struct mlx5_ib_create_srq_resp *answer = (void *)made->driver_data;
	struct shared_ring *ring = TAKE(shared_rings, SHARED_RINGS, context);
	if (!ring)
		return ENOMEM;
	ring->entries = adapter->buf_addr;
	ring->record = adapter->db_addr;
	/* As libmlx5 sizes entries: a link and the pieces, at least 32 bytes, a power of two. */
	for (ring->shift = 5; 1u << ring->shift < 16 + wanted->max_sge * 16; ring->shift++)
		;
	show(&ring->owner, true);
	made->srq_handle = answer->srqn = ring - FABRIC->shared_rings;
	made->max_wr = wanted->max_wr;
	made->max_sge = wanted->max_sge;
	return 0;
}

static int create_queue(int context, const struct ib_uverbs_create_qp *wanted, struct ib_uverbs_create_qp_resp *made)
{
	const struct mlx5_ib_create_qp *adapter = (const void *)wanted->driver_data;
	struct mlx5_ib_create_qp_resp *answer = (void *)made->driver_data;
	struct ring *sent = FIND(rings, RINGS, wanted->send_cq_handle);
	struct ring *received = FIND(rings, RINGS, wanted->recv_cq_handle);
	struct shared_ring *shared = wanted->is_srq ? FIND(shared_rings, SHARED_RINGS, wanted->srq_handle) : NULL;
	if (!sent || !received || wanted->is_srq != !!shared)
		return EINVAL;
	if (wanted->qp_type != IBV_QPT_RC && wanted->qp_type != IBV_QPT_UC && wanted->qp_type != IBV_QPT_UD)
		return EOPNOTSUPP;
	struct queue *queue = TAKE(queues, QUEUES, context);
	if (!queue)
		return ENOMEM;
	queue->state = IBV_QPS_RESET;
	queue->number = queue - FABRIC->queues + FIRST_NUMBER;
	queue->type = wanted->qp_type;
	queue->domain = wanted->pd_handle;
	queue->index = adapter->uidx;
	queue->receives = adapter->buf_addr;
	queue->receives_size = adapter->rq_wqe_count;
	queue->receives_shift = adapter->rq_wqe_shift;
	queue->sends = queue->receives + ((uint64_t)adapter->rq_wqe_count << adapter->rq_wqe_shift);
	queue->sends_size = adapter->sq_wqe_count;
	queue->record = adapter->db_addr;
	queue->sent = sent;
	queue->received = received;
	queue->shared = shared;
	queue->made = *wanted;
	show(&queue->owner, true);
	*made = (struct ib_uverbs_create_qp_resp){
		.qp_handle = queue - FABRIC->queues, .qpn = queue->number, .max_send_wr = wanted->max_send_wr,
		.max_recv_wr = wanted->max_recv_wr, .max_send_sge = wanted->max_send_sge,
		.max_recv_sge = wanted->max_recv_sge, .max_inline_data = wanted->max_inline_data,
	};
	*answer = (struct mlx5_ib_create_qp_resp){ .bfreg_index = adapter->bfreg_index };
	return 0;
}

static int query_queue(const struct ib_uverbs_query_qp *which, struct ib_uverbs_query_qp_resp *is)
{
	struct queue *queue = FIND(queues, QUEUES, which->qp_handle);
	if (!queue)
		return EINVAL;
	const struct ib_uverbs_modify_qp *has = &queue->attributes;
	*is = (struct ib_uverbs_query_qp_resp){
		.dest = has->dest, .alt_dest = has->alt_dest, .max_send_wr = queue->made.max_send_wr,
		.max_recv_wr = queue->made.max_recv_wr, .max_send_sge = queue->made.max_send_sge,
		.max_recv_sge = queue->made.max_recv_sge, .max_inline_data = queue->made.max_inline_data,
		.qkey = has->qkey, .rq_psn = has->rq_psn, .sq_psn = has->sq_psn, .dest_qp_num = has->dest_qp_num,
		.qp_access_flags = has->qp_access_flags, .pkey_index = has->pkey_index, .qp_state = queue->state,
		.cur_qp_state = queue->state, .path_mtu = has->path_mtu, .path_mig_state = has->path_mig_state,
		.max_rd_atomic = has->max_rd_atomic, .max_dest_rd_atomic = has->max_dest_rd_atomic,
		.min_rnr_timer = has->min_rnr_timer, .port_num = has->port_num, .timeout = has->timeout,
		.retry_cnt = has->retry_cnt, .rnr_retry = has->rnr_retry, .sq_sig_all = queue->made.sq_sig_all,
	};
	return 0;
}

/* Tells whether a queue pair may go from a state to another one. All may become RESET or ERR. */
static bool leads_to(uint32_t from, uint32_t to)
{
	return to == IBV_QPS_RESET || to == IBV_QPS_ERR || (from == IBV_QPS_RESET && to == IBV_QPS_INIT) ||
	       (from == IBV_QPS_INIT && (to == IBV_QPS_INIT || to == IBV_QPS_RTR)) ||
	       ((from == IBV_QPS_RTR || from == IBV_QPS_RTS) && to == IBV_QPS_RTS);
}

static int modify_queue(const struct ib_uverbs_modify_qp *wanted)
{
	struct queue *queue = FIND(queues, QUEUES, wanted->qp_handle);
	uint32_t given = wanted->attr_mask;
	if (!queue || (given & IBV_QP_STATE && !leads_to(queue->state, wanted->qp_state)))
		return EINVAL;
	adapter_hold();
	struct ib_uverbs_modify_qp *has = &queue->attributes;
#define SET(flag, field) \
	if (given & (flag)) \
		has->field = wanted->field;
	SET(IBV_QP_AV, dest)
	SET(IBV_QP_ALT_PATH, alt_dest)
	SET(IBV_QP_QKEY, qkey)
	SET(IBV_QP_RQ_PSN, rq_psn)
	SET(IBV_QP_SQ_PSN, sq_psn)
	SET(IBV_QP_DEST_QPN, dest_qp_num)
	SET(IBV_QP_ACCESS_FLAGS, qp_access_flags)
	SET(IBV_QP_PKEY_INDEX, pkey_index)
	SET(IBV_QP_PATH_MTU, path_mtu)
	SET(IBV_QP_PATH_MIG_STATE, path_mig_state)
	SET(IBV_QP_MAX_QP_RD_ATOMIC, max_rd_atomic)
	SET(IBV_QP_MAX_DEST_RD_ATOMIC, max_dest_rd_atomic)
	SET(IBV_QP_MIN_RNR_TIMER, min_rnr_timer)
	SET(IBV_QP_PORT, port_num)
	SET(IBV_QP_TIMEOUT, timeout)
	SET(IBV_QP_RETRY_CNT, retry_cnt)
	SET(IBV_QP_RNR_RETRY, rnr_retry)
#undef SET
	if (given & IBV_QP_STATE) {
		queue->state = wanted->qp_state;
		queue->waits_since = 0;
		if (wanted->qp_state == IBV_QPS_RESET) {
			queue->sends_done = queue->receives_done = 0;
			memset(has, 0, sizeof(*has));
		}
	}
	adapter_release();
	return 0;
}

/* Answers a command. Returns an error number. */
static int command(int context, uint32_t number, const void *asked, void *answer)
{
	const uint32_t *handle = asked;
	switch (number) {
	case IB_USER_VERBS_CMD_GET_CONTEXT:
		return get_context(context, answer);
	case IB_USER_VERBS_CMD_QUERY_DEVICE:
		return query_device(answer);
	case IB_USER_VERBS_CMD_QUERY_PORT:
		return query_port(asked, answer);
	case IB_USER_VERBS_CMD_ALLOC_PD: {
		struct ib_uverbs_alloc_pd_resp *made = answer;
		/* Other processes have domains with the same numbers: regions are compared by process too. */
		made->pd_handle = made->driver_data[0] = ++domains;
		return 0;
	}
	case IB_USER_VERBS_CMD_DEALLOC_PD:
		return 0;
	case IB_USER_VERBS_CMD_REG_MR:
		return register_region(context, asked, answer);
	case IB_USER_VERBS_CMD_DEREG_MR: {
		struct region *region = FIND(regions, REGIONS, *handle);
		if (!region)
			return EINVAL;
		show(&region->owner, false);
		return 0;
	}
	case IB_USER_VERBS_CMD_CREATE_COMP_CHANNEL: {
		struct ib_uverbs_create_comp_channel_resp *made = answer;
		int end = make_channel(&made->fd);
		if (end < 0)
			return errno;
		writers[made->fd] = end;
		return 0;
	}
	case IB_USER_VERBS_CMD_CREATE_CQ:
		return create_ring(context, asked, answer);
	case IB_USER_VERBS_CMD_DESTROY_CQ:
		return destroy_ring(asked, answer);
	case IB_USER_VERBS_CMD_CREATE_SRQ:
		return create_shared_ring(context, asked, answer);
	case IB_USER_VERBS_CMD_DESTROY_SRQ: {
		const struct ib_uverbs_destroy_srq *which = asked;
		struct ib_uverbs_destroy_srq_resp *left = answer;
		struct shared_ring *ring = FIND(shared_rings, SHARED_RINGS, which->srq_handle);
		if (!ring)
			return EINVAL;
		show(&ring->owner, false);
		left->events_reported = 0;
		return 0;
	}
	case IB_USER_VERBS_CMD_CREATE_QP:
		return create_queue(context, asked, answer);
	case IB_USER_VERBS_CMD_QUERY_QP:
		return query_queue(asked, answer);
	case IB_USER_VERBS_CMD_MODIFY_QP:
		return modify_queue(asked);
	case IB_USER_VERBS_CMD_DESTROY_QP: {
		const struct ib_uverbs_destroy_qp *which = asked;
		struct ib_uverbs_destroy_qp_resp *left = answer;
		struct queue *queue = FIND(queues, QUEUES, which->qp_handle);
		if (!queue)
			return EINVAL;
		show(&queue->owner, false);
		left->events_reported = 0;
		return 0;
	}
	default:
		return EOPNOTSUPP;
	}
}

/* Commands without a response have their arguments where others have its address. */
static bool responds(uint32_t number)
{
	return number != IB_USER_VERBS_CMD_DEALLOC_PD && number != IB_USER_VERBS_CMD_DEREG_MR &&
	       number != IB_USER_VERBS_CMD_MODIFY_QP;
}

static int write_command(int context, const void *bytes)
{
	const struct ib_uverbs_cmd_hdr *header = bytes;
	uint32_t number = header->command & IB_USER_VERBS_CMD_COMMAND_MASK;
	if (header->command & IB_USER_VERBS_CMD_FLAG_EXTENDED) {
		const struct ib_uverbs_ex_cmd_hdr *more = (const void *)(header + 1);
		struct ib_uverbs_ex_query_device_resp *answer = (void *)more->response;
		if (number != IB_USER_VERBS_EX_CMD_QUERY_DEVICE)
			return EOPNOTSUPP;
		answer->response_length = header->out_words * 8 + more->provider_out_words * 8;
		return query_device(&answer->base);
	}
	return command(context, number, header + 1, responds(number) ? *(void *const *)(header + 1) : NULL);
}

/* Makes or frees a doorbell page: all other commands of this kind are refused as by an old kernel. */
static int page_command(struct ib_uverbs_ioctl_hdr *asked)
{
	if (asked->object_id != MLX5_IB_OBJECT_UAR)
		return ENOTTY;
	if (asked->method_id == MLX5_IB_METHOD_UAR_OBJ_DESTROY)
		return 0;
	uint32_t page = ++pages;
	for (int i = 0; i < asked->num_attrs; i++) {
		struct ib_uverbs_attr *attribute = &asked->attrs[i];
		attribute->flags |= UVERBS_ATTR_F_VALID_OUTPUT;
		switch (attribute->attr_id) {
		case MLX5_IB_ATTR_UAR_OBJ_ALLOC_HANDLE:
			attribute->data = page;
			break;
		case MLX5_IB_ATTR_UAR_OBJ_ALLOC_MMAP_OFFSET:
			*(uint64_t *)attribute->data = (uint64_t)page * PAGE;
			break;
		case MLX5_IB_ATTR_UAR_OBJ_ALLOC_MMAP_LENGTH:
			*(uint32_t *)attribute->data = PAGE;
			break;
		case MLX5_IB_ATTR_UAR_OBJ_ALLOC_PAGE_ID:
			*(uint32_t *)attribute->data = page;
			break;
		}
	}
	return 0;
}

/* --- the calls of the C library --- */

static int result_of(int error)
{
	if (!error)
		return 0;
	errno = error;
	return -1;
}

API int open(const char *path, int flags, ...)
{
	va_list more;
	va_start(more, flags);
	mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(more, mode_t) : 0;
	va_end(more);
	if (strcmp(path, DEVICE) != 0)
		return real_open()(path, flags, mode);
	pthread_once(&once, begin);
	int descriptor = memfd_create("uverbs0", MFD_CLOEXEC);
	if (descriptor < 0)
		return -1;
	if (descriptor >= DESCRIPTORS || ftruncate(descriptor, 1ll << 32) < 0) {
		real_close()(descriptor);
		errno = EMFILE;
		return -1;
	}
	is_context[descriptor] = true;
	return descriptor;
}

static int is_device(struct stat *is)
{
	memset(is, 0, sizeof(*is));
	is->st_mode = S_IFCHR | 0666;
	is->st_rdev = 231 << 8 | 192;
	return 0;
}

API int stat(const char *path, struct stat *is)
{
	return strcmp(path, DEVICE) == 0 ? is_device(is) : real_stat()(path, is);
}

API int fstat(int descriptor, struct stat *is)
{
	return is_ours(descriptor) ? is_device(is) : real_fstat()(descriptor, is);
}

API int ioctl(int descriptor, unsigned long request, ...)
{
	va_list more;
	va_start(more, request);
	void *argument = va_arg(more, void *);
	va_end(more);
	return is_ours(descriptor) ? result_of(page_command(argument)) : real_ioctl()(descriptor, request, argument);
}

API ssize_t write(int descriptor, const void *bytes, size_t size)
{
	if (!is_ours(descriptor))
		return real_write()(descriptor, bytes, size);
	pthread_mutex_lock(&lock);
	int error = write_command(descriptor, bytes);
	pthread_mutex_unlock(&lock);
	return error ? result_of(error) : (ssize_t)size;
}

API int close(int descriptor)
{
	if (is_ours(descriptor)) {
		pthread_mutex_lock(&lock);
		is_context[descriptor] = false;
		FREE_ALL(queues, QUEUES, descriptor)
		FREE_ALL(shared_rings, SHARED_RINGS, descriptor)
		FREE_ALL(rings, RINGS, descriptor)
		FREE_ALL(regions, REGIONS, descriptor)
		pthread_mutex_unlock(&lock);
	}
	if (descriptor >= 0 && descriptor < DESCRIPTORS && writers[descriptor]) {
		real_close()(writers[descriptor]);
		writers[descriptor] = 0;
	}
	return real_close()(descriptor);
}
