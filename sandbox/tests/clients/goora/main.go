// Checks of a sandbox through go-ora: each prints one line of JSON with what it found; the test compares.
//
//	goora HOST PORT SERVICE
package main

import (
	"bytes"
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	ora "github.com/sijms/go-ora/v2"
	"github.com/sijms/go-ora/v2/network"
)

type finding struct {
	Check string `json:"check"`
	Value any    `json:"value"`
	Error string `json:"error,omitempty"`
	Code  int    `json:"code,omitempty"`
}

type check struct {
	name string
	run  func(ctx context.Context, db *sql.DB) (any, error)
}

const longQuery = "select count(*) from v$parameter a, v$parameter b, v$parameter c, v$parameter d, v$parameter e, v$parameter f"

var checks = []check{
	{"version", version},
	{"types", types},
	{"nulls", nulls},
	{"fetch in pieces", fetchInPieces},
	{"result metadata", resultMetadata},
	{"named binds", namedBinds},
	{"prepared again", preparedAgain},
	{"prepared again after DDL", preparedAgainAfterDDL},
	{"bulk insert", bulkInsert},
	{"bulk merge", bulkMerge},
	{"bulk merge of another type", bulkMergeOfAnotherType},
	{"direct path load", directPathLoad},
	{"returning", returning},
	{"out parameters", outParameters},
	{"cursor", cursor},
	{"long text", longText},
	{"lobs", lobs},
	{"empty and null lobs", emptyLobs},
	{"rollback", rollback},
	{"missing table", missingTable},
	{"duplicate key", duplicateKey},
	{"timeout", timeout},
	{"after timeout", afterTimeout},
	{"many sessions", manySessions},
}

func main() {
	host, service := os.Args[1], os.Args[3]
	port, err := strconv.Atoi(os.Args[2])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	out := json.NewEncoder(os.Stdout)
	for _, refused := range []struct{ name, user, password, service string }{
		{"wrong password", "app", "wrong", service},
		{"unknown user", "stranger", "app", service},
		{"unknown service", "app", "app", "nowhere"},
	} {
		db, _ := sql.Open("oracle", ora.BuildUrl(host, port, refused.service, refused.user, refused.password, nil))
		report(out, refused.name, nil, db.Ping())
		db.Close()
	}
	db, err := sql.Open("oracle", ora.BuildUrl(host, port, service, "app", "app", nil))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	defer db.Close()
	for _, c := range checks {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		value, err := c.run(ctx, db)
		cancel()
		report(out, c.name, value, err)
	}
}

func report(out *json.Encoder, name string, value any, err error) {
	f := finding{Check: name, Value: value}
	if err != nil {
		f.Error = err.Error()
		var oracle *network.OracleError
		if errors.As(err, &oracle) {
			f.Code = oracle.ErrCode
		}
	}
	_ = out.Encode(f)
}

func table(rows *sql.Rows, err error) ([][]string, error) {
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	names, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	found := [][]string{}
	for rows.Next() {
		cells, places := make([]any, len(names)), make([]any, len(names))
		for i := range cells {
			places[i] = &cells[i]
		}
		if err := rows.Scan(places...); err != nil {
			return found, err
		}
		texts := make([]string, len(names))
		for i, cell := range cells {
			texts[i] = text(cell)
		}
		found = append(found, texts)
	}
	return found, rows.Err()
}

func text(cell any) string {
	switch value := cell.(type) {
	case nil:
		return "NULL"
	case time.Time:
		return value.Format("2006-01-02T15:04:05.999999999Z07:00")
	case []byte:
		return fmt.Sprintf("%x", value)
	default:
		return fmt.Sprint(value)
	}
}

func run(ctx context.Context, db *sql.DB, statement string, args ...any) error {
	_, err := db.ExecContext(ctx, statement, args...)
	return err
}

func version(ctx context.Context, db *sql.DB) (any, error) {
	return table(db.QueryContext(ctx, "select user, sys_context('userenv', 'con_name') from dual"))
}

func types(ctx context.Context, db *sql.DB) (any, error) {
	err := run(ctx, db, `create table kinds (id number(10) primary key, i number(10), n number, bf binary_float, bd binary_double,
		v varchar2(100), c char(5), nv nvarchar2(50), d date, ts timestamp(9), tz timestamp(6) with time zone, r raw(50))`)
	if err != nil {
		return nil, err
	}
	at := time.Date(2024, 2, 29, 1, 2, 3, 123456000, time.FixedZone("", 19800))
	err = run(ctx, db, "insert into kinds values (:1, :2, :3, :4, :5, :6, :7, :8, :9, :10, :11, :12)",
		1, -5, "123456789012345.678", float32(1.5), 2.25, "h\u00e9", "ab", ora.NVarChar("\u4e2d\U0001f600"),
		ora.TimeStamp(time.Date(2024, 2, 29, 1, 2, 3, 0, time.UTC)),
		ora.TimeStamp(time.Date(2024, 2, 29, 1, 2, 3, 123456789, time.UTC)), ora.TimeStampTZ(at), []byte{0xca, 0xfe})
	if err != nil {
		return nil, err
	}
	return table(db.QueryContext(ctx, "select * from kinds where id = 1"))
}

func nulls(ctx context.Context, db *sql.DB) (any, error) {
	err := run(ctx, db, "insert into kinds (id, i, v, d, r) values (:1, :2, :3, :4, :5)",
		2, sql.NullInt64{}, sql.NullString{}, sql.NullTime{}, []byte{})
	if err != nil {
		return nil, err
	}
	return table(db.QueryContext(ctx, "select * from kinds where id = 2"))
}

func fetchInPieces(ctx context.Context, db *sql.DB) (any, error) {
	if err := run(ctx, db, "create table t (id number(10) primary key, v varchar2(4000))"); err != nil {
		return nil, err
	}
	ids, values := make([]int, 1000), make([]string, 1000)
	for i := range ids {
		ids[i], values[i] = i+1, fmt.Sprintf("v%d", i+1)
	}
	if err := run(ctx, db, "insert into t values (:1, :2)", ids, values); err != nil {
		return nil, err
	}
	rows, err := db.QueryContext(ctx, "select id, v from t order by id")
	found, err := table(rows, err)
	if err != nil {
		return nil, err
	}
	for i, row := range found {
		if row[0] != strconv.Itoa(i+1) || row[1] != "v"+row[0] {
			return row, errors.New("a row out of order")
		}
	}
	return len(found), nil
}

func resultMetadata(ctx context.Context, db *sql.DB) (any, error) {
	rows, err := db.QueryContext(ctx, "select id, n, v, tz from kinds")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	columns, err := rows.ColumnTypes()
	described := [][]string{}
	for _, column := range columns {
		nullable, _ := column.Nullable()
		described = append(described, []string{column.Name(), column.DatabaseTypeName(), strconv.FormatBool(nullable)})
	}
	return described, err
}

func namedBinds(ctx context.Context, db *sql.DB) (any, error) {
	return table(db.QueryContext(ctx, "select id, v from t where id between :low and :high order by id",
		sql.Named("low", 5), sql.Named("high", 6)))
}

func preparedAgain(ctx context.Context, db *sql.DB) (any, error) {
	statement, err := db.PrepareContext(ctx, "select v from t where id = :1")
	if err != nil {
		return nil, err
	}
	defer statement.Close()
	all := [][]string{}
	for _, id := range []int{1, 500, 5000, 7} {
		found, err := table(statement.QueryContext(ctx, id))
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}

// The columns of a table that a prepared query has read once, and meets again as those of each other layout.
var layouts = [][2]string{{", v varchar2(20)", ", 'text'"}, {", v number, w number", ", 1, 2"}, {", c clob", ", 'long text'"},
	{", v number, w clob", ", 3, 'long text'"}}

func preparedAgainAfterDDL(ctx context.Context, db *sql.DB) (any, error) {
	layOut := func(layout [2]string) error {
		_ = run(ctx, db, "drop table laid_out purge")
		if err := run(ctx, db, "create table laid_out (a number"+layout[0]+")"); err != nil {
			return err
		}
		return run(ctx, db, "insert into laid_out values (1"+layout[1]+")")
	}
	differences := []string{}
	for from := range layouts {
		for to := range layouts {
			if from == to {
				continue
			}
			connection, err := db.Conn(ctx)
			if err != nil {
				return differences, err
			}
			if err := layOut(layouts[from]); err != nil {
				return differences, err
			}
			statement, err := connection.PrepareContext(ctx, "select * from laid_out where a < :1")
			if err == nil {
				_, err = table(statement.QueryContext(ctx, 100))
			}
			if err == nil {
				err = layOut(layouts[to])
			}
			for again := 0; again < 2 && err == nil; again++ {
				var found, fresh [][]string
				found, err = table(statement.QueryContext(ctx, 100))
				if err == nil {
					fresh, err = table(connection.QueryContext(ctx, "select z.* from laid_out z"))
				}
				if fmt.Sprint(found) != fmt.Sprint(fresh) || err != nil {
					differences = append(differences, fmt.Sprint(layouts[from][0], " to", layouts[to][0], ": ", found, fresh, err))
				}
			}
			_ = statement.Close()
			_ = connection.Close()
		}
	}
	return differences, nil
}

func bulkInsert(ctx context.Context, db *sql.DB) (any, error) {
	ids, values := make([]int, 500), make([]string, 500)
	for i := range ids {
		ids[i], values[i] = 2000+i, fmt.Sprintf("bulk %d", i)
	}
	result, err := db.ExecContext(ctx, "insert into t values (:1, :2)", ids, values)
	if err != nil {
		return nil, err
	}
	return result.RowsAffected()
}

const merge = `merge into t using dual on (t.id = :id) when matched then update set v = :v
	when not matched then insert (id, v) values (:id, :v)`

// A name that comes again has no value of its own in the rows.
func bulkMerge(ctx context.Context, db *sql.DB) (any, error) {
	ids, values := make([]int, 500), make([]string, 500)
	for i := range ids {
		ids[i], values[i] = 2250+i, fmt.Sprintf("merged %d", i)
	}
	result, err := db.ExecContext(ctx, merge, sql.Named("id", ids), sql.Named("v", values))
	if err != nil {
		return nil, err
	}
	merged, _ := result.RowsAffected()
	var there int64
	err = db.QueryRowContext(ctx, "select count(*) from t where v like 'merged %' and id - 2250 = substr(v, 8)").Scan(&there)
	return []int64{merged, there}, err
}

func bulkMergeOfAnotherType(ctx context.Context, db *sql.DB) (any, error) {
	ids, files := make([]int, 500), make([]*ora.BFile, 500)
	for i := range ids {
		ids[i], files[i] = i, ora.CreateNullBFile()
	}
	return nil, run(ctx, db, merge, sql.Named("id", ids), sql.Named("v", files))
}

func directPathLoad(ctx context.Context, db *sql.DB) (any, error) {
	connection, err := db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	defer connection.Close()
	return nil, connection.Raw(func(driver any) error {
		load := ora.NewBulkCopy(driver.(*ora.Connection), "T")
		load.ColumnNames = []string{"ID", "V"}
		return load.StartStream()
	})
}

func returning(ctx context.Context, db *sql.DB) (any, error) {
	statement, err := db.PrepareContext(ctx, "insert into t values (:1, :2) returning id, v into :3, :4")
	if err != nil {
		return nil, err
	}
	defer statement.Close()
	found := [][]string{}
	for _, id := range []int{3000, 3001} {
		var gotID int64
		var gotText string
		_, err := statement.ExecContext(ctx, id, fmt.Sprintf("made %d", id), sql.Out{Dest: &gotID},
			ora.Out{Dest: &gotText, Size: 100})
		if err != nil {
			return found, err
		}
		found = append(found, []string{strconv.FormatInt(gotID, 10), gotText})
	}
	return found, nil
}

func outParameters(ctx context.Context, db *sql.DB) (any, error) {
	found := []string{}
	for _, number := range []int64{41, 42} {
		var sum int64
		var name string
		err := run(ctx, db, "begin :1 := :2 + 1; :3 := :4 || '!'; end;", sql.Out{Dest: &sum}, number,
			ora.Out{Dest: &name, Size: 100}, "x")
		if err != nil {
			return found, err
		}
		found = append(found, fmt.Sprint(sum, name))
	}
	return found, nil
}

func cursor(ctx context.Context, db *sql.DB) (any, error) {
	connection, err := db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	defer connection.Close()
	var opened ora.RefCursor
	_, err = connection.ExecContext(ctx, "begin open :1 for select id, v from t where id <= :2 order by id; end;",
		sql.Out{Dest: &opened}, 3)
	if err != nil {
		return nil, err
	}
	defer opened.Close()
	rows, err := opened.Query()
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	found := [][]string{}
	row := make([]driver.Value, 2)
	for rows.Next(row) == nil {
		found = append(found, []string{text(row[0]), text(row[1])})
	}
	return found, nil
}

func longText(ctx context.Context, db *sql.DB) (any, error) {
	long := string(bytes.Repeat([]byte("0123456789"), 400))
	if err := run(ctx, db, "insert into t values (4000, :1)", long); err != nil {
		return nil, err
	}
	var back string
	err := db.QueryRowContext(ctx, "select v from t where id = 4000").Scan(&back)
	return back == long, err
}

func lobs(ctx context.Context, db *sql.DB) (any, error) {
	if err := run(ctx, db, "create table lobs (id number(10) primary key, c clob, n nclob, b blob)"); err != nil {
		return nil, err
	}
	long := string(bytes.Repeat([]byte("a\u00e9\u4e2d"), 30000))
	data := bytes.Repeat([]byte{0, 1, 2, 255}, 50000)
	for id, value := range []struct {
		text string
		data []byte
	}{{"small", []byte{0xca, 0xfe}}, {long, data}} {
		err := run(ctx, db, "insert into lobs values (:1, :2, :3, :4)", id, ora.Clob{String: value.text, Valid: true},
			ora.NClob{String: value.text, Valid: true}, ora.Blob{Data: value.data, Valid: true})
		if err != nil {
			return id, err
		}
	}
	rows, err := db.QueryContext(ctx, "select c, n, b from lobs order by id")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	found := []string{}
	for rows.Next() {
		var c, n string
		var b []byte
		if err := rows.Scan(&c, &n, &b); err != nil {
			return found, err
		}
		switch {
		case c == long && n == long && bytes.Equal(b, data):
			found = append(found, "long")
		default:
			found = append(found, fmt.Sprintf("%.20s %.20s %.20x", c, n, b))
		}
	}
	return found, rows.Err()
}

func emptyLobs(ctx context.Context, db *sql.DB) (any, error) {
	if err := run(ctx, db, "insert into lobs values (10, null, empty_clob(), empty_blob())"); err != nil {
		return nil, err
	}
	return table(db.QueryContext(ctx, "select c, n, b from lobs where id = 10"))
}

func rollback(ctx context.Context, db *sql.DB) (any, error) {
	transaction, err := db.BeginTx(ctx, nil)
	if err != nil {
		return nil, err
	}
	result, err := transaction.ExecContext(ctx, "delete from t where id <= 10")
	if err != nil {
		return nil, err
	}
	deleted, _ := result.RowsAffected()
	if err := transaction.Rollback(); err != nil {
		return nil, err
	}
	var left int64
	err = db.QueryRowContext(ctx, "select count(*) from t where id <= 10").Scan(&left)
	return []int64{deleted, left}, err
}

func missingTable(ctx context.Context, db *sql.DB) (any, error) {
	return table(db.QueryContext(ctx, "select * from nowhere"))
}

func duplicateKey(ctx context.Context, db *sql.DB) (any, error) {
	return nil, run(ctx, db, "insert into t values (:1, 'again')", 1)
}

func timeout(ctx context.Context, db *sql.DB) (any, error) {
	short, cancel := context.WithTimeout(ctx, 500*time.Millisecond)
	defer cancel()
	begun := time.Now()
	_, err := table(db.QueryContext(short, longQuery))
	if err == nil {
		return nil, errors.New("the query came to an end")
	}
	if errors.Is(err, driver.ErrBadConn) || errors.Is(err, io.EOF) {
		return nil, err
	}
	return time.Since(begun) < 10*time.Second, nil
}

func afterTimeout(ctx context.Context, db *sql.DB) (any, error) {
	return table(db.QueryContext(ctx, "select 9 from dual"))
}

func manySessions(ctx context.Context, db *sql.DB) (any, error) {
	answers := make(chan error, 20)
	for i := range 20 {
		go func() {
			var back int
			err := db.QueryRowContext(ctx, "select :1 from dual", i).Scan(&back)
			if err == nil && back != i {
				err = fmt.Errorf("%d came back as %d", i, back)
			}
			answers <- err
		}()
	}
	var all error
	for range 20 {
		all = errors.Join(all, <-answers)
	}
	return true, all
}
