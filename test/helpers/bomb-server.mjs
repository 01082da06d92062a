// Hostile responses for a fetcher, in a separate process so that its own memory is not measured.
import { createServer } from 'node:net'
import { constants, createBrotliCompress, createGzip } from 'node:zlib'

const EMPTY_BLOCK = Buffer.from([0, 0, 0, 0xff, 0xff])
const GZIP_HEAD = Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3])
const EMPTY_MEMBER = Buffer.concat([GZIP_HEAD, Buffer.from([3, 0]), Buffer.alloc(8)])
const repeated = (bytes, times) => Buffer.concat(Array(times).fill(bytes))
const head = (...headers) => `HTTP/1.1 200 OK\r\ncontent-type: image/png\r\n${headers.join('\r\n')}\r\n\r\n`

/** Repeats the same bytes as fast as the client reads. */
function endless(socket, bytes) {
  const more = () => {
    while (!socket.destroyed) if (!socket.write(bytes)) return void socket.once('drain', more)
  }
  more()
}

function packed(socket, encoding, packer) {
  socket.write(head(`content-encoding: ${encoding}`))
  packer.pipe(socket)
  packer.on('error', () => {})
  socket.on('close', () => packer.destroy())
  endless(packer, Buffer.alloc(65_536))
}

const BOMBS = {
  'gzip of zeros without end': (socket) => packed(socket, 'gzip', createGzip()),
  'brotli of zeros without end': (socket) =>
    packed(socket, 'br', createBrotliCompress({ params: { [constants.BROTLI_PARAM_QUALITY]: 5 } })),
  zstd: (socket) => {
    socket.write(head('content-encoding: zstd'))
    endless(socket, Buffer.alloc(65_536, 1))
  },
  'gzip of gzip': (socket) => packed(socket, 'gzip, gzip', createGzip()),
  'gzip of nothing without end': (socket) => {
    socket.write(head('content-encoding: gzip'))
    socket.write(GZIP_HEAD)
    endless(socket, repeated(EMPTY_BLOCK, 10_000))
  },
  'empty gzip files one after the other': (socket) => {
    socket.write(head('content-encoding: gzip'))
    endless(socket, repeated(EMPTY_MEMBER, 3000))
  },
  'a body without end': (socket) => {
    socket.write(head('connection: close'))
    endless(socket, Buffer.alloc(65_536, 1))
  },
  'chunks of one byte without end': (socket) => {
    socket.write(head('transfer-encoding: chunked'))
    endless(socket, repeated(Buffer.from('1\r\nx\r\n'), 10_000))
  },
  'a chunk extension without end': (socket) => {
    socket.write(`${head('transfer-encoding: chunked')}5;`)
    endless(socket, Buffer.alloc(65_536, 'a'))
  },
  'trailers without end': (socket) => {
    socket.write(`${head('transfer-encoding: chunked')}5\r\nhello\r\n0\r\n`)
    endless(socket, repeated(Buffer.from('x-trailer: 12345678\r\n'), 3000))
  },
  'headers without end': (socket) => {
    socket.write('HTTP/1.1 200 OK\r\n')
    endless(socket, repeated(Buffer.from('x-header: 12345678\r\n'), 3000))
  },
  'one header without end': (socket) => {
    socket.write('HTTP/1.1 200 OK\r\nx-header: ')
    endless(socket, Buffer.alloc(65_536, 'a'))
  },
  'a status line without end': (socket) => {
    socket.write('HTTP/1.1 200 ')
    endless(socket, Buffer.alloc(65_536, 'a'))
  },
  'early hints without end': (socket) =>
    endless(socket, repeated(Buffer.from('HTTP/1.1 103 Early Hints\r\n\r\n'), 3000)),
  'parts of a range without end': (socket) => {
    socket.write(
      'HTTP/1.1 206 Partial Content\r\ncontent-type: multipart/byteranges; boundary=x\r\nconnection: close\r\n\r\n',
    )
    endless(socket, repeated(Buffer.from('--x\r\ncontent-range: bytes 0-0/999\r\n\r\na\r\n'), 2000))
  },
  'redirects to itself': (socket, path) =>
    socket.end(`HTTP/1.1 302 Found\r\nlocation: ${path}\r\nconnection: close\r\n\r\n`),
  'redirects without end': (socket, path) =>
    socket.end(`HTTP/1.1 302 Found\r\nlocation: ${path}x\r\nconnection: close\r\n\r\n`),
  'a redirect with a body without end': (socket, path) => {
    socket.write(`HTTP/1.1 302 Found\r\nlocation: ${path}\r\nconnection: close\r\n\r\n`)
    endless(socket, Buffer.alloc(65_536, 1))
  },
  'an error with a body without end': (socket) => {
    socket.write('HTTP/1.1 404 Not Found\r\nconnection: close\r\n\r\n')
    endless(socket, Buffer.alloc(65_536, 1))
  },
  'a byte a second': (socket) => {
    socket.write(head('connection: close'))
    const timer = setInterval(() => socket.write('x'), 1000)
    socket.on('close', () => clearInterval(timer))
  },
  'a header byte a second': (socket) => {
    const timer = setInterval(() => socket.write('H'), 1000)
    socket.on('close', () => clearInterval(timer))
  },
  silenceReason: () => {},
}

const server = createServer((socket) => {
  socket.on('error', () => {})
  socket.once('data', (request) => {
    const [, path = '/'] = request.toString('latin1').split(' ')
    const name = decodeURIComponent(path.slice(1).replace(/x*$/, ''))
    socket.resume()
    BOMBS[name]?.(socket, path)
  })
})
server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`${JSON.stringify({ port: server.address().port, bombs: Object.keys(BOMBS) })}\n`)
})
