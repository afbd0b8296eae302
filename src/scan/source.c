/*-------------------------------------------------------------------------
 *
 * source.c
 *		Where a scan's bytes come from: a regular file, another kind of file
 *		(such as a named pipe), or the output of a program.
 *
 * A regular file is read by fd.c's virtual descriptors up to the size that it
 * had when it was opened.  What happens to it meanwhile: more bytes at its
 * end are not seen; fewer bytes, another file under the same name, or a
 * rewrite in place (another modification time at the same size) are errors,
 * because the rows would come from two different states.
 *
 * Everything else is read once and in order, by a descriptor that does not
 * block, so that a wait can be interrupted.  A program runs in a process group
 * of its own, which is ended with the source, whatever way that happens.
 *
 * IDENTIFICATION
 *		src/scan/source.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "miscadmin.h"
#include "port.h"
#include "storage/fd.h"
#include "utils/memutils.h"
#include "utils/wait_event.h"

#include "scan.h"

extern char **environ;

/* How often a wait for a pipe looks for interrupts. */
#define PIPE_WAIT_MS		20

/* How long a program may take to end once it is told to. */
#define PROGRAM_GRACE_MS	50

/* Bytes of a regular file between two looks at its state. */
#define CHECK_INTERVAL		(1024 * 1024)

/* Bytes one system call reads, so that interrupts are seen in between. */
#define READ_SLICE			(8 * 1024 * 1024)

struct PpSource
{
	char	   *filename;
	bool		is_program;

	/* regular file */
	File		file;			/* -1 if none */
	struct stat opened;			/* its state when it was opened, ... */
	bool		shared;			/* ... by another process, or for an earlier run, ... */
	bool		unchanged;		/* ... since when nothing may have been added, either */
	off_t		offset;
	off_t		checked;		/* offset at which it was last looked at */

	/* program or other file */
	int			fd;				/* -1 if none */
	bool		is_fifo;
	pid_t		pid;			/* program; 0 if none, or no longer ours */
	bool		reached_eof;

	MemoryContextCallback cleanup;
};

bool
parparaw_is_regular_file(const char *filename)
{
	struct stat st;

	return stat(filename, &st) == 0 && S_ISREG(st.st_mode);
}

/*
 * Ends a program and what it started, politely at first.  Does not raise
 * errors; takes PROGRAM_GRACE_MS at most.
 */
static void
stop_program(pid_t pid)
{
	kill(-pid, SIGTERM);
	for (int waited = 0; waited < PROGRAM_GRACE_MS; waited++)
	{
		siginfo_t	info = {0};

		/* not reaped yet, so that the number of its group remains its own */
		if (waitid(P_PID, pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
			info.si_pid == pid)
			break;
		pg_usleep(1000L);
	}
	kill(-pid, SIGKILL);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
}

/*
 * Gives back what the source holds, without raising errors: also called when
 * its memory context goes, at abort included.
 */
static void
release_source(void *arg)
{
	PpSource   *source = arg;

	/* fd.c closes nothing but temporary files by itself */
	if (source->file >= 0)
		FileClose(source->file);
	source->file = -1;

	/* its end of the pipe is what tells a program to stop ... */
	if (source->fd >= 0)
	{
		close(source->fd);
		ReleaseExternalFD();
	}
	source->fd = -1;

	/* ... but one that does not write must be told otherwise */
	if (source->pid > 0)
		stop_program(source->pid);
	source->pid = 0;
}

/*
 * Starts the program with its output in a pipe.  posix_spawn, unlike popen,
 * tells the process's number and lets it lead a group of its own.
 */
static void
start_program(PpSource *source)
{
	int			pipe_fd[2];
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	sigset_t	defaults;
	sigset_t	mask;
	char	   *argv[4];
	int			rc;

	if (!AcquireExternalFD())
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_RESOURCES),
				 errmsg("could not run program \"%s\": out of file descriptors",
						source->filename)));
	if (pipe2(pipe_fd, O_CLOEXEC) < 0)
	{
		int			save_errno = errno;

		ReleaseExternalFD();
		errno = save_errno;
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not execute command \"%s\": %m", source->filename)));
	}
	source->fd = pipe_fd[0];

	/*
	 * The program gets PostgreSQL's standard input and error output as a
	 * program run by COPY does, default signal actions, and no signal
	 * blocked.
	 */
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, pipe_fd[1], STDOUT_FILENO);
	posix_spawnattr_init(&attr);
	sigemptyset(&mask);
	sigemptyset(&defaults);
	sigaddset(&defaults, SIGPIPE);
	sigaddset(&defaults, SIGINT);
	sigaddset(&defaults, SIGTERM);
	sigaddset(&defaults, SIGQUIT);
	posix_spawnattr_setsigmask(&attr, &mask);
	posix_spawnattr_setsigdefault(&attr, &defaults);
	posix_spawnattr_setpgroup(&attr, 0);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK |
							 POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
	argv[0] = "sh";
	argv[1] = "-c";
	argv[2] = source->filename;
	argv[3] = NULL;

	fflush(NULL);
	rc = posix_spawn(&source->pid, "/bin/sh", &actions, &attr, argv, environ);
	posix_spawnattr_destroy(&attr);
	posix_spawn_file_actions_destroy(&actions);
	close(pipe_fd[1]);
	if (rc != 0)
	{
		source->pid = 0;
		errno = rc;
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not execute command \"%s\": %m", source->filename)));
	}
	if (fcntl(source->fd, F_SETFL, O_NONBLOCK) < 0)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not read from program \"%s\": %m", source->filename)));
}

PP_NORETURN static void
changed(PpSource *source, const char *how)
{
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("file \"%s\" was changed while it was being read", source->filename),
			 errdetail("%s", how),
			 errhint("Run the query again once the file is complete.")));
}

static bool
is_written(const struct stat *then, const struct stat *now)
{
	return now->st_mtim.tv_sec != then->st_mtim.tv_sec ||
		now->st_mtim.tv_nsec != then->st_mtim.tv_nsec;
}

/* What has happened between two looks at a file, or NULL; it may have grown. */
static const char *
difference(const struct stat *then, const struct stat *now)
{
	if (now->st_ino != then->st_ino || now->st_dev != then->st_dev)
		return "The file was replaced by another one.";
	if (now->st_size < then->st_size)
		return "The file was truncated.";
	if (now->st_size == then->st_size && is_written(then, now))
		return "The file was written to.";
	return NULL;
}

static void
open_file(PpSource *source)
{
	struct stat st;
	const char *how;

	/*
	 * Opened without blocking first, since a named pipe without a writer
	 * would hold us up; what kind of file it is can be seen then.
	 */
	if (!AcquireExternalFD())
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_RESOURCES),
				 errmsg("could not open file \"%s\" for reading: out of file descriptors",
						source->filename)));
	source->fd = open(source->filename, O_RDONLY | O_NONBLOCK | O_CLOEXEC | PG_BINARY);
	if (source->fd < 0)
	{
		int			save_errno = errno;

		ReleaseExternalFD();
		if (source->shared && save_errno == ENOENT)
			changed(source, "The file was removed.");
		errno = save_errno;
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not open file \"%s\" for reading: %m", source->filename),
				 (save_errno == ENOENT || save_errno == EACCES) ?
				 errhint("The file is read by the PostgreSQL server process. "
						 "Its path must exist on the server and be readable there.") : 0));
	}
	if (fstat(source->fd, &st) < 0)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not stat file \"%s\": %m", source->filename)));
	if (source->shared)
	{
		how = difference(&source->opened, &st);
		if (how == NULL && source->unchanged && is_written(&source->opened, &st))
			how = "The file was written to.";
		if (how)
			changed(source, how);
	}
	if (S_ISDIR(st.st_mode))
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is a directory", source->filename)));
	source->is_fifo = S_ISFIFO(st.st_mode);
	if (!S_ISREG(st.st_mode))
		return;

	/* Files of /proc say that they are empty: that is known at the end only. */
	if (st.st_size == 0)
		return;

	/* A regular file is better kept by fd.c, which may close it for a while. */
	close(source->fd);
	source->fd = -1;
	ReleaseExternalFD();
	source->file = PathNameOpenFile(source->filename, O_RDONLY | PG_BINARY);
	if (source->file < 0)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not open file \"%s\" for reading: %m", source->filename)));
	if (!source->shared)
		source->opened = st;
}

static PpSource *
make_source(const char *filename, bool is_program)
{
	PpSource   *source = palloc0(sizeof(PpSource));

	source->filename = pstrdup(filename);
	source->is_program = is_program;
	source->file = -1;
	source->fd = -1;
	source->cleanup.func = release_source;
	source->cleanup.arg = source;
	MemoryContextRegisterResetCallback(CurrentMemoryContext, &source->cleanup);
	return source;
}

PpSource *
parparaw_source_open(const char *filename, bool is_program)
{
	PpSource   *source = make_source(filename, is_program);

	if (is_program)
		start_program(source);
	else
		open_file(source);
	return source;
}

PpSource *
parparaw_source_open_same(const char *filename, const struct stat *state, bool unchanged)
{
	PpSource   *source = make_source(filename, false);

	source->opened = *state;
	source->shared = true;
	source->unchanged = unchanged;
	open_file(source);
	return source;
}

/*
 * The file must still be the one that was opened.  Compared is what the name
 * leads to now, so that a replaced file is noticed as well as a changed one.
 */
static void
check_unchanged(PpSource *source)
{
	struct stat now;
	const char *what = NULL;

	source->checked = source->offset;
	if (stat(source->filename, &now) < 0)
	{
		if (errno != ENOENT)
			ereport(ERROR,
					(errcode_for_file_access(),
					 errmsg("could not stat file \"%s\": %m", source->filename)));
		what = "The file was removed.";
	}
	else
		what = difference(&source->opened, &now);

	if (what)
		changed(source, what);
}

static size_t
read_regular(PpSource *source, char *dst, size_t len, bool *eof)
{
	off_t		left = source->opened.st_size - source->offset;
	size_t		done = 0;

	if (len > (size_t) left)
		len = left;
	while (done < len)
	{
		size_t		part = Min(len - done, READ_SLICE);
		int			n;

		CHECK_FOR_INTERRUPTS();
		n = FileRead(source->file, dst + done, part, source->offset,
					 PG_WAIT_EXTENSION);
		if (n < 0)
			ereport(ERROR,
					(errcode_for_file_access(),
					 errmsg("could not read from file \"%s\": %m", source->filename)));
		if (n == 0)
		{
			/* some files of /sys hold less than they say */
			check_unchanged(source);
			source->opened.st_size = source->offset;
			break;
		}
		source->offset += n;
		done += n;
	}

	*eof = source->offset >= source->opened.st_size;
	if (*eof || source->offset - source->checked >= CHECK_INTERVAL)
		check_unchanged(source);
	return done;
}

/*
 * As much as is there, len bytes at most: a pipe hands out less at a time than
 * a partition has, but who waits for rows must not wait for more input.
 */
static size_t
read_pipe(PpSource *source, char *dst, size_t len, bool *eof)
{
	size_t		done = 0;

	for (;;)
	{
		ssize_t		n;

		CHECK_FOR_INTERRUPTS();
		n = read(source->fd, dst + done, Min(len - done, READ_SLICE));
		if (n > 0)
		{
			done += n;
			if (done == len)
				return done;
			continue;
		}
		if (done > 0)
			return done;		/* whatever this is, the next call meets it again */
		if (n == 0)
		{
			struct pollfd p = {source->fd, POLLIN, 0};

			/*
			 * A named pipe that no writer has opened yet reads as empty
			 * without being at its end: poll then sees neither data nor a
			 * hang-up.
			 */
			if (source->is_fifo &&
				(poll(&p, 1, PIPE_WAIT_MS) <= 0 || (p.revents & POLLIN)))
				continue;
			source->reached_eof = true;
			*eof = true;
			return 0;
		}
		if (errno == EAGAIN || errno == EWOULDBLOCK)
		{
			struct pollfd p = {source->fd, POLLIN, 0};

			(void) poll(&p, 1, PIPE_WAIT_MS);
			continue;
		}
		if (errno == EINTR)
			continue;
		ereport(ERROR,
				(errcode_for_file_access(),
				 source->is_program ?
				 errmsg("could not read from program \"%s\": %m", source->filename) :
				 errmsg("could not read from file \"%s\": %m", source->filename)));
	}
}

int64
parparaw_source_size(const PpSource *source)
{
	return source->file >= 0 ? (int64) source->opened.st_size : -1;
}

const struct stat *
parparaw_source_state(const PpSource *source)
{
	return &source->opened;
}

void
parparaw_source_seek(PpSource *source, uint64 offset)
{
	source->offset = (off_t) offset;
}

void
parparaw_source_check(PpSource *source)
{
	if (source->file >= 0)
		check_unchanged(source);
}

size_t
parparaw_source_read(PpSource *source, void *dst, size_t len, bool *eof)
{
	*eof = false;
	if (source->file >= 0)
		return read_regular(source, dst, len, eof);
	if (source->reached_eof)
	{
		*eof = true;
		return 0;
	}
	return read_pipe(source, dst, len, eof);
}

/*
 * Waits for a program that has closed its output, so that its exit status is
 * known.  It may linger; the wait can be interrupted.
 */
static void
finish_program(PpSource *source)
{
	int			status;
	pid_t		rc;
	long		pause = 50;		/* most end at once */

	while ((rc = waitpid(source->pid, &status, WNOHANG)) == 0 ||
		   (rc < 0 && errno == EINTR))
	{
		CHECK_FOR_INTERRUPTS();
		pg_usleep(pause);
		pause = Min(2 * pause, 10000L);
	}
	if (rc < 0)
	{
		source->pid = 0;
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not close pipe to external command: %m")));
	}
	source->pid = 0;
	if (status != 0)
		ereport(ERROR,
				(errcode(ERRCODE_EXTERNAL_ROUTINE_EXCEPTION),
				 errmsg("program \"%s\" failed", source->filename),
				 errdetail_internal("%s", wait_result_to_str(status))));
}

void
parparaw_source_close(PpSource *source)
{
	if (source->pid > 0 && source->reached_eof)
		finish_program(source);
	release_source(source);
}
