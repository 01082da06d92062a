/**
 * Replaces each line ending with LF. For lists whose cells have no line breaks: people append lines to files that have
 * CRLF, and a CSV file with both would be read wrongly.
 */
export async function* withOneLineEnding(text: AsyncIterable<string>): AsyncGenerator<string> {
  let isAfterCr = false
  for await (const piece of text) {
    const rest = isAfterCr && piece.startsWith('\n') ? piece.slice(1) : piece
    if (piece !== '') isAfterCr = piece.endsWith('\r')
    yield rest.replace(/\r\n?/g, '\n')
  }
}
