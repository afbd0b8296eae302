/*-------------------------------------------------------------------------
 *
 * cuda_slots.c
 *		How many sessions of the server use devices at a time, and how much
 *		device memory they take together.
 *
 * Works without shared memory, and so without shared_preload_libraries: a
 * session that uses a device holds a lock on one of the files
 *
 *		parparaw_cuda/slot.N
 *
 * in the data directory, each of which says whose it is and how many bytes of
 * device memory come with it.  However the session ends, the kernel drops the
 * lock with the process, and what a file without a lock says means nothing.
 * Who takes a slot holds a lock on parparaw_cuda/lock as long, some tens of
 * microseconds, so that the count is right.
 *
 * A session's share of memory is the same for all, so whether its scans fit
 * does not depend on what others do.
 *
 * IDENTIFICATION
 *		src/cuda_slots.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/file_perm.h"
#include "miscadmin.h"
#include "storage/fd.h"

#include "cuda_loader.h"

#define FOLDER		"parparaw_cuda"

/* What a share has to be at least, to be of any use. */
#define MIN_SHARE	UINT64_C(65536)

/* How long the lock on the folder is waited for, and how often looked at. */
#define LOCK_WAITS	2000
#define LOCK_WAIT_US	1000

static int	slot = -1;			/* the descriptor that holds ours */

static bool
fail_file(PpCudaProblem *problem, const char *what, const char *path)
{
	problem->sqlstate = ERRCODE_SYSTEM_ERROR;
	problem->message = psprintf("could not %s \"%s\": %m", what, path);
	problem->detail = NULL;
	problem->hint = NULL;
	return false;
}

/* A file of the folder; -1 with errno if it cannot be opened. */
static int
open_file(const char *path, bool create)
{
	return BasicOpenFile(path, O_RDWR | O_CLOEXEC | (create ? O_CREAT : 0));
}

/* The lock on the folder, held until the descriptor is closed; -1: problem. */
static int
lock_folder(PpCudaProblem *problem)
{
	int			fd;

	if (MakePGDirectory(FOLDER) != 0 && errno != EEXIST)
	{
		fail_file(problem, "create directory", FOLDER);
		return -1;
	}
	fd = open_file(FOLDER "/lock", true);
	if (fd < 0)
	{
		fail_file(problem, "open file", FOLDER "/lock");
		return -1;
	}
	for (int i = 0; flock(fd, LOCK_EX | LOCK_NB) != 0; i++)
	{
		if ((errno != EWOULDBLOCK && errno != EINTR) || i == LOCK_WAITS)
		{
			fail_file(problem, "lock file", FOLDER "/lock");
			close(fd);
			return -1;
		}
		pg_usleep(LOCK_WAIT_US);
	}
	return fd;
}

/* The bytes that the holder of a slot has written into its file. */
static uint64
bytes_of(int fd)
{
	char		text[64];
	ssize_t		n = pread(fd, text, sizeof(text) - 1, 0);
	unsigned long long bytes = 0;

	if (n < 0)
		n = 0;
	text[n] = '\0';
	if (sscanf(text, "%*d %llu", &bytes) != 1)
		bytes = 0;
	return bytes;
}

static bool
write_slot(int fd, uint64 bytes)
{
	char	   *text = psprintf("%d " UINT64_FORMAT "\n", MyProcPid, bytes);
	size_t		len = strlen(text);
	bool		ok = ftruncate(fd, 0) == 0 && pwrite(fd, text, len, 0) == (ssize_t) len;

	pfree(text);
	return ok;
}

/*
 * Looks at all slots: how many are held, with how many bytes.  A free one
 * among those that there may be is locked; *ours is -1 if there is none.
 */
static bool
look(int *held, uint64 *bytes, int *ours, PpCudaProblem *problem)
{
	*held = 0;
	*bytes = 0;
	*ours = -1;
	for (int i = 0; i < PP_CUDA_MAX_BACKENDS; i++)
	{
		char		path[MAXPGPATH];
		bool		wanted = *ours < 0 && i < parparaw_cuda_max_backends;
		int			fd;

		snprintf(path, sizeof(path), FOLDER "/slot.%d", i);
		fd = open_file(path, wanted);
		if (fd < 0)
		{
			if (errno == ENOENT && !wanted)
				continue;
			return fail_file(problem, "open file", path);
		}
		if (flock(fd, LOCK_EX | LOCK_NB) == 0)
		{
			if (wanted)
			{
				*ours = fd;
				continue;
			}
		}
		else if (errno == EWOULDBLOCK)
		{
			*held += 1;
			*bytes += bytes_of(fd);
		}
		else
		{
			fail_file(problem, "lock file", path);
			close(fd);
			return false;
		}
		close(fd);
	}
	return true;
}

bool
parparaw_cuda_slot_take(uint64 *bytes, PpCudaProblem *problem)
{
	uint64		limit = (uint64) parparaw_cuda_max_memory * 1024;
	uint64		taken;
	uint64		share;
	int			held;
	int			ours = -1;
	int			folder;
	bool		ok = false;

	Assert(slot < 0);
	folder = lock_folder(problem);
	if (folder < 0)
		return false;

	ok = look(&held, &taken, &ours, problem);
	if (ok && (held >= parparaw_cuda_max_backends || ours < 0))
	{
		problem->sqlstate = ERRCODE_CONFIGURATION_LIMIT_EXCEEDED;
		problem->message = "too many sessions use a device already";
		problem->detail = psprintf("There are %d, and parparaw.cuda_max_backends is %d.",
								   held, parparaw_cuda_max_backends);
		problem->hint = "A session keeps its device until it ends. Raise parparaw.cuda_max_backends, "
			"or set parparaw.backend to \"auto\" or \"cpu\".";
		ok = false;
	}
	if (ok)
	{
		share = Min(limit / parparaw_cuda_max_backends, limit > taken ? limit - taken : 0);
		if (share < MIN_SHARE)
		{
			problem->sqlstate = ERRCODE_CONFIGURATION_LIMIT_EXCEEDED;
			if (taken > 0)
			{
				problem->message = "no device memory is left for another session";
				problem->detail = psprintf("Other sessions have " UINT64_FORMAT " of " UINT64_FORMAT
										   " bytes, which they keep until they end.", taken, limit);
			}
			else
			{
				problem->message = "a session's share of device memory is too small";
				problem->detail = psprintf("It is " UINT64_FORMAT " bytes, parparaw.cuda_max_memory "
										   "divided by parparaw.cuda_max_backends; the least is "
										   UINT64_FORMAT ".", share, MIN_SHARE);
			}
			problem->hint = "Raise parparaw.cuda_max_memory, "
				"or set parparaw.backend to \"auto\" or \"cpu\".";
			ok = false;
		}
		else if (!write_slot(ours, share))
			ok = fail_file(problem, "write to a file in", FOLDER);
		else
			*bytes = share;
	}
	if (ok && !AcquireExternalFD())
		ok = fail_file(problem, "keep open a file in", FOLDER);

	if (ok)
		slot = ours;
	else if (ours >= 0)
		close(ours);
	close(folder);
	return ok;
}

void
parparaw_cuda_slot_free(void)
{
	if (slot < 0)
		return;
	/* it is only for people to look at, so a failure is of no interest */
	if (ftruncate(slot, 0) != 0)
		elog(DEBUG1, "could not truncate a file in \"%s\": %m", FOLDER);
	close(slot);
	ReleaseExternalFD();
	slot = -1;
}
