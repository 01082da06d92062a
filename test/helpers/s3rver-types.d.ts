/** The package has no types. These cover what the tests use. */
declare module 's3rver' {
  export default class S3rver {
    constructor(options: object)
    readonly httpServer: import('node:http').Server
    run(): Promise<import('node:net').AddressInfo>
    close(): Promise<void>
  }
}
