import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cp, mkdir, mkdtemp, readFile, realpath, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { execa } from 'execa'
import type { BaseImage, ImageConfig } from './dockerfile.ts'

const run = promisify(execFile)

/** Why containers can't be run here, or null. */
export async function whyNoContainers(): Promise<string | null> {
  if (process.platform !== 'linux' || process.arch !== 'x64') return 'needs Linux on x64'
  if (process.getuid?.() !== 0) return 'needs root, to mount and change the root directory'
  const folder = await mkdtemp(join(tmpdir(), 'gdn-mount-'))
  try {
    const overlay = await mountHost(folder)
    await overlay.close()
    return null
  } catch (error) {
    return `can't mount here: ${error instanceof Error ? error.message : error}`
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** A root directory with the files of this machine, whose changes are kept apart and discarded. */
export async function mountHost(folder: string): Promise<{ root: string; close(): Promise<void> }> {
  const [upper, work, root] = ['upper', 'work', 'root'].map((name) => join(folder, name))
  for (const path of [upper, work, root]) await mkdir(path ?? '', { recursive: true })
  await run('mount', ['-t', 'overlay', 'overlay', '-o', `lowerdir=/,upperdir=${upper},workdir=${work}`, root ?? ''])
  return {
    root: root ?? '',
    async close() {
      await run('umount', [root ?? ''])
    },
  }
}

/** Shared libraries of distroless/cc that Node.js and the native parts load. */
const LIBRARIES = ['libc.so.6', 'libm.so.6', 'libdl.so.2', 'libpthread.so.0', 'librt.so.1', 'libresolv.so.2']
const FOLDER = '/lib/x86_64-linux-gnu'

/** Builds a stand-in for distroless/cc:nonroot from files of this machine. */
export async function makeDistroless(root: string): Promise<BaseImage> {
  const add = async (path: string) => {
    await mkdir(join(root, dirname(path)), { recursive: true })
    await cp(await realpath(path), join(root, path))
  }
  for (const name of [...LIBRARIES, 'libgcc_s.so.1', 'libstdc++.so.6']) await add(join(FOLDER, name))
  await add('/lib64/ld-linux-x86-64.so.2')
  await add('/etc/ssl/certs/ca-certificates.crt')
  for (const name of ['dev', 'proc', 'run', 'home/nonroot', 'tmp']) await mkdir(join(root, name), { recursive: true })
  await writeFile(
    join(root, 'etc/passwd'),
    'root:x:0:0:root:/root:/sbin/nologin\nnonroot:x:65532:65532::/home/nonroot:/sbin/nologin\n',
  )
  await writeFile(join(root, 'etc/group'), 'root:x:0:\nnonroot:x:65532:\n')
  await writeFile(join(root, 'etc/hosts'), '127.0.0.1 localhost\n')
  const env = {
    PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
    SSL_CERT_FILE: '/etc/ssl/certs/ca-certificates.crt',
  }
  return { root, env }
}

export interface Container {
  child: ChildProcess
  /** The process ID of its first process on this machine. Throws before it has started. */
  pid(): Promise<number>
  /** Runs a program in it, as its user. */
  exec(...argv: string[]): Promise<{ code: number | undefined; stdout: string; stderr: string }>
  /** Sends a signal to its first process. Resolves with the exit code. */
  stop(signal: NodeJS.Signals): Promise<number | null>
}

/**
 * The mounts of `docker run --read-only --tmpfs /tmp -v volume:/data`: root, volume, and the devices of a container.
 */
const START = `set -e
root=$1 volume=$2 user=$3; shift 3
mount --bind "$root" "$root"
mount --bind "$volume" "$root/data"
mount -t tmpfs -o mode=1777,nosuid,nodev,noexec tmpfs "$root/tmp"
mount -t proc proc "$root/proc"
mount -t tmpfs -o mode=755 tmpfs "$root/dev"
for device in null zero random urandom; do touch "$root/dev/$device"; mount --bind "/dev/$device" "$root/dev/$device"; done
mount -o remount,bind,ro "$root"
exec setpriv --no-new-privs chroot --userspec="$user" --groups= "$root" "$@"`

/**
 * Runs an image in namespaces of its own, with the network of this machine. Its program is the first process, as
 * without an init.
 */
export function startContainer(
  { root, config }: { root: string; config: ImageConfig },
  { volume, argv, env: more = {} }: { volume: string; argv: readonly string[]; env?: Record<string, string> },
): Container {
  const env = { ...config.env, ...more }
  const child = spawn(
    'unshare',
    [
      ...['--mount', '--pid', '--fork', '--kill-child', 'bash', '-c', START, 'container'],
      ...[root, volume, config.user, ...config.entrypoint, ...argv],
    ],
    { env, cwd: '/', stdio: ['ignore', 'pipe', 'pipe'] },
  )
  const ended = once(child, 'exit').then(([code]) => code as number | null)
  const pid = async () => {
    const children = await readFile(`/proc/${child.pid}/task/${child.pid}/children`, 'utf8')
    const [first = ''] = children.trim().split(' ')
    if (first === '') throw new Error('the container has no process')
    return Number(first)
  }
  return {
    child,
    pid,
    async exec(...argv) {
      const [uid = '', gid = ''] = config.user.split(':')
      const into = [
        '--target',
        `${await pid()}`,
        '--mount',
        '--pid',
        '--root',
        '--wd',
        '--setuid',
        uid,
        '--setgid',
        gid,
      ]
      const {
        exitCode: code,
        stdout,
        stderr,
      } = await execa('nsenter', [...into, '--', ...argv], {
        ...{ env, extendEnv: false, reject: false, stdin: 'ignore' },
      })
      return { code, stdout: String(stdout), stderr: String(stderr) }
    },
    async stop(signal) {
      process.kill(await pid(), signal)
      return await ended
    },
  }
}
