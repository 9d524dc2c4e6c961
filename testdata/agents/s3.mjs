// A server of the S3 protocol with the bucket "talks". It knows one key, checks no signatures (the examples that Amazon publishes
// hold those), and keeps its objects beside this program.
import S3rver from "s3rver";

const server = new S3rver({
  address: "127.0.0.1", port: 0, silent: true, vhostBuckets: false, directory: "objects", configureBuckets: [{ name: "talks" }],
});
const { port } = await server.run();
console.log(`http://127.0.0.1:${port}`);
