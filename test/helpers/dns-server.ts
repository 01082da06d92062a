import { createSocket } from 'node:dgram'
import { Resolver } from 'node:dns/promises'
import { once } from 'node:events'
import { isIPv4, isIPv6 } from 'node:net'
import type { Resolve } from '../../src/files/lookup.ts'

const [A, CNAME, AAAA] = [1, 5, 28]

export interface DnsServer {
  /** Resolves a name with this server over the network. */
  resolve: Resolve
  /** Received queries, as `name type`. */
  questions: string[]
  close(): Promise<void>
}

/**
 * A DNS server (RFC 1035, the required part). Each name has answers for consecutive queries. The last answer is
 * repeated. An answer has addresses, or another name to follow.
 */
export async function startDnsServer(
  zone: Readonly<Record<string, readonly (readonly string[])[]>>,
): Promise<DnsServer> {
  const questions: string[] = []
  const queryCounts = new Map<string, number>()
  const answerOf = (name: string, type: number): readonly string[] => {
    const answers = Object.hasOwn(zone, name) ? (zone[name] ?? []) : []
    const count = queryCounts.get(`${name} ${type}`) ?? 0
    queryCounts.set(`${name} ${type}`, count + 1)
    return answers[Math.min(count, answers.length - 1)] ?? []
  }

  const socket = createSocket('udp4', (message, from) => {
    const { name, type, end } = readQuestion(message)
    questions.push(`${name} ${type === AAAA ? 'AAAA' : 'A'}`)
    const records: Buffer[] = []
    const add = (owner: string) => {
      for (const value of answerOf(owner, type)) {
        if (isIPv4(value)) {
          if (type === A) records.push(record(owner, A, Buffer.from(value.split('.').map(Number))))
        } else if (isIPv6(value)) {
          if (type === AAAA) records.push(record(owner, AAAA, bytesOfIPv6(value)))
        } else {
          records.push(record(owner, CNAME, spell(value)))
          add(value)
        }
      }
    }
    add(name)
    const known = Object.hasOwn(zone, name)
    const head = Buffer.alloc(12)
    message.copy(head, 0, 0, 2)
    // An authoritative answer with recursion desired and available. 3 means that the name does not exist.
    head.writeUInt16BE(0x8580 | (known ? 0 : 3), 2)
    head.writeUInt16BE(1, 4)
    head.writeUInt16BE(records.length, 6)
    socket.send(Buffer.concat([head, message.subarray(12, end), ...records]), from.port, from.address)
  })
  socket.bind(0, '127.0.0.1')
  await once(socket, 'listening')
  const resolver = new Resolver({ timeout: 2000, tries: 1 })
  resolver.setServers([`127.0.0.1:${socket.address().port}`])
  return {
    questions,
    async resolve(hostname) {
      const [four, six] = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)])
      const found = [
        ...(four.status === 'fulfilled' ? four.value.map((address) => ({ address, family: 4 })) : []),
        ...(six.status === 'fulfilled' ? six.value.map((address) => ({ address, family: 6 })) : []),
      ]
      if (found.length === 0 && four.status === 'rejected') throw four.reason
      return found
    },
    async close() {
      resolver.cancel()
      socket.close()
      await once(socket, 'close')
    },
  }
}

function readQuestion(message: Buffer): { name: string; type: number; end: number } {
  const labels: string[] = []
  let at = 12
  for (let length = message[at] ?? 0; length > 0; length = message[at] ?? 0) {
    labels.push(message.toString('latin1', at + 1, at + 1 + length))
    at += length + 1
  }
  return { name: labels.join('.').toLowerCase(), type: message.readUInt16BE(at + 1), end: at + 5 }
}

function spell(name: string): Buffer {
  const labels = name.split('.').map((label) => Buffer.concat([Buffer.from([label.length]), Buffer.from(label)]))
  return Buffer.concat([...labels, Buffer.from([0])])
}

/** A record of class IN with a TTL of 0. */
function record(owner: string, type: number, data: Buffer): Buffer {
  const fixed = Buffer.alloc(10)
  fixed.writeUInt16BE(type, 0)
  fixed.writeUInt16BE(1, 2)
  fixed.writeUInt16BE(data.length, 8)
  return Buffer.concat([spell(owner), fixed, data])
}

function bytesOfIPv6(text: string): Buffer {
  const { hostname } = new URL(`http://[${text}]`)
  const [before = '', after] = hostname.slice(1, -1).split('::')
  const head = before === '' ? [] : before.split(':')
  const tail = after === undefined || after === '' ? [] : after.split(':')
  const zeros = Array<string>(8 - head.length - tail.length).fill('0')
  const bytes = Buffer.alloc(16)
  for (const [i, group] of [...head, ...zeros, ...tail].entries())
    bytes.writeUInt16BE(Number.parseInt(group, 16), 2 * i)
  return bytes
}
